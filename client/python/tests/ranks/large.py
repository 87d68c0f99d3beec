"""Tensors of more than 2^31 elements (C34).

Run: reigenrun -np 2 /usr/bin/python3 large.py
Needs about 4 bytes of memory per element and rank; prints "skipped" without.
"""

import torch

import reigen.torch as hvd

ELEMENTS = 2**31 + 17


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as info:
        for line in info:
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) * 1024
    return 0


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    enough = int(available_bytes() > 5 * ELEMENTS * hvd.local_size())
    enough = hvd.allreduce(torch.tensor(enough), op=hvd.Min, name="enough").item()
    if not enough:
        print("skipped: not enough memory", flush=True)
        return
    mine = torch.full((ELEMENTS,), rank + 1, dtype=torch.int8)
    mine[-1] = 10 * (rank + 1)
    hvd.allreduce_(mine, op=hvd.Sum, name="large")
    total = size * (size + 1) // 2
    for index, expected in ((0, total), (ELEMENTS // 2, total), (ELEMENTS - 1, 10 * total)):
        assert mine[index] == expected, (index, mine[index])
    assert mine.sum(dtype=torch.int64).item() == (ELEMENTS - 1) * total + 10 * total
    mine.fill_(rank)
    hvd.broadcast_(mine, size - 1, name="large")
    assert mine.amin() == mine.amax() == size - 1
    print("ok", flush=True)


if __name__ == "__main__":
    main()
