#!/bin/sh
# libreigen.so needs libc's libraries alone and shows nothing but its interface.
set -eu
library=$1

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libc.so.6 | libm.so.6 | libpthread.so.0 | ld-linux*.so.*) ;;
    *) echo "needs $name"; exit 1 ;;
  esac
done

soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libreigen.so ] || { echo "SONAME is $soname"; exit 1; }

shown=$(nm -D --defined-only "$library" | awk '{print $NF}')
for symbol in $shown; do
  case $symbol in
    reigen_*) ;;
    *) echo "shows $symbol"; exit 1 ;;
  esac
done
for symbol in reigen_init reigen_allreduce_async reigen_wait reigen_last_error; do
  echo "$shown" | grep -qx "$symbol" || { echo "lacks $symbol"; exit 1; }
done
echo "needs: $(echo $needed); shows $(echo "$shown" | wc -l) functions"
