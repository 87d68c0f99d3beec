"""200 rounds of init and shutdown: flat memory, descriptors, threads.

Run: reigenrun -np 2..4 /usr/bin/python3 rounds.py [rounds]
"""

import os
import sys

import numpy as np

import reigen


def resident_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    return 0


def counts():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def one_round(number):
    reigen.init()
    total = reigen.allreduce(np.full(1000, reigen.rank() + 1.0), op=reigen.Sum, name="x")
    size = reigen.size()
    assert total[999] == size * (size + 1) / 2, (number, total)
    reigen.allreduce_async(np.ones(10), name="dropped")
    reigen.shutdown()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for number in range(20):
        one_round(number)
    before, resident = counts(), resident_kib()
    for number in range(rounds):
        one_round(number)
    assert counts() == before, (before, counts())
    grown = resident_kib() - resident
    assert grown < 4096, "%d KiB more after %d rounds" % (grown, rounds)
    print("ok", flush=True)


if __name__ == "__main__":
    main()
