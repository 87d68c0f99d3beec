"""Sums large tensors until an operation fails, then leaves: each rank says both.

Prints "step N" after each step that rank 0 did.
"""
import sys
import time

import numpy
import reigen

ELEMENTS = 16 << 20  # 64 MiB


def main():
    reigen.init()
    data = numpy.ones(ELEMENTS, dtype=numpy.float32)
    rank = reigen.rank()
    step = 0
    while True:
        try:
            reigen.allreduce_(data, op=reigen.Average, name="large")
        except reigen.HorovodInternalError as error:
            print("rank %d raised: %s" % (rank, error), flush=True)
            break
        if rank == 0:
            print("step %d" % step, flush=True)
        step += 1
    begin = time.monotonic()
    reigen.shutdown()
    print("rank %d left in %.3f s" % (rank, time.monotonic() - begin), flush=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
