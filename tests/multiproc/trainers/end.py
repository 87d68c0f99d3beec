"""Rank RANK ends as told after a second; the others sleep, or fail a moment later.

usage: end.py RANK exit:7|raise|signal:9 [sleep|follow]
"""
import os
import sys
import time

rank = int(os.environ["REIGEN_RANK"])
how = sys.argv[2]
print("up", rank, flush=True)
if rank == int(sys.argv[1]):
    time.sleep(1)
    print("last words of", rank, file=sys.stderr, flush=True)
    kind, _, number = how.partition(":")
    if kind == "exit":
        sys.exit(int(number))
    if kind == "signal":
        os.kill(os.getpid(), int(number))
    raise RuntimeError("this rank fails")
if sys.argv[3:] == ["follow"]:
    time.sleep(1.05)
    sys.exit(3)
time.sleep(120)
