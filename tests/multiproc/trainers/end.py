"""Rank RANK ends as told after a second; the others sleep, or fail a moment after it.

usage: end.py RANK exit:7|raise|signal:9 [sleep|follow]
"""
import os
import sys
import time

rank = int(os.environ["REIGEN_RANK"])
how = sys.argv[2]
ending = os.path.join(os.environ["JOB_FOLDER"], "ending")
print("up", rank, flush=True)
if rank == int(sys.argv[1]):
    time.sleep(1)
    print("last words of", rank, file=sys.stderr, flush=True)
    open(ending, "w").close()
    kind, _, number = how.partition(":")
    if kind == "exit":
        sys.exit(int(number))
    if kind == "signal":
        os.kill(os.getpid(), int(number))
    raise RuntimeError("this rank fails")
if sys.argv[3:] == ["follow"]:
    while not os.path.exists(ending):
        time.sleep(0.01)
    time.sleep(0.5)
    sys.exit(3)
time.sleep(120)
