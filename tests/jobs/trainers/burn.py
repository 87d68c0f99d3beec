"""Computes on all cores when told to, and says how long it took.

usage: burn.py COMMANDS ANSWERS [--init]    two pipes: loops per core; seconds
"""
import os
import sys
import time


def work(loops):
    total = 0
    for i in range(loops):
        total += i & 3
    return total


def helper():
    """(where it is told, where it answers) of a process that works like this one."""
    told, tell = os.pipe()
    answered, answer = os.pipe()
    if os.fork() == 0:
        os.close(tell)
        with os.fdopen(told) as commands:
            for line in commands:
                work(int(line))
                os.write(answer, b".")
        os._exit(0)
    os.close(told)
    os.close(answer)
    return tell, answered


def main():
    # Before init: what is forked has nothing of it.
    helpers = [helper() for _ in range(len(os.sched_getaffinity(0)) - 1)]
    if "--init" in sys.argv:
        import numpy
        import reigen
        reigen.init()
        reigen.allreduce(numpy.zeros(4, numpy.float32), name="first")
    with open(sys.argv[1]) as commands, open(sys.argv[2], "w", 1) as answers:
        for line in commands:
            begin = time.perf_counter()
            for tell, _ in helpers:
                os.write(tell, line.encode())
            work(int(line))
            for _, answered in helpers:
                os.read(answered, 1)
            print(time.perf_counter() - begin, file=answers)
    if "--init" in sys.argv:
        reigen.shutdown()


if __name__ == "__main__":
    main()
