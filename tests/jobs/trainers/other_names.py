"""C01: rank 0 reduces `a`, rank 1 reduces `b`; both must be told."""
import sys
import time

import numpy
import reigen

reigen.init()
begin = time.monotonic()
try:
    reigen.allreduce(numpy.ones(4), name="ab"[reigen.rank()])
except reigen.HorovodInternalError as error:
    print("raised after %.1f s: %s" % (time.monotonic() - begin, error), flush=True)
    sys.exit(3)
