"""Sums a tensor over all ranks, again and again: steps.py COUNT [SECONDS BETWEEN].

Prints "step N" after each step that rank 0 did, and fails on a wrong sum.
"""
import sys
import time

import numpy
import reigen


def main():
    count = int(sys.argv[1])
    pause_seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    reigen.init()
    expected = reigen.size() * (reigen.size() + 1) / 2
    for step in range(count):
        data = numpy.full(50000, reigen.rank() + 1, dtype=numpy.float32)
        result = reigen.allreduce(data, op=reigen.Sum, name="steps")
        if not (result == expected).all():
            sys.exit("rank %d, step %d: wrong sum" % (reigen.rank(), step))
        if reigen.rank() == 0:
            print("step %d" % step, flush=True)
        time.sleep(pause_seconds)
    reigen.shutdown()


if __name__ == "__main__":
    main()
