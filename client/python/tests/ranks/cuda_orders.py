"""Ranks enqueue large CUDA tensors in different orders, and wait for them in others still;
what the GPU's arena holds is a fraction of them. No rank waits for another for ever.

Run: as cuda.py, without an argument.
"""

import os
import random

import fake_gpu
import numpy as np

import reigen

COUNT = 300000  # of each; the arena holds one
TENSORS = 8


def check(rank, size, order, waits, round_):
    stream = fake_gpu.new_stream()
    arrays, handles = {}, {}
    for n in order:
        arrays[n] = fake_gpu.Array(np.full(COUNT, rank + n, "float32"), stream)
        handles[n] = reigen.allreduce_async_(arrays[n], op=reigen.Sum, name="%d.%d" % (round_, n))
    for n in waits:
        reigen.synchronize(handles[n])
        expected = np.full(COUNT, sum(range(size)) + size * n)
        assert np.array_equal(arrays[n].values(), expected), (order, n)


def main():
    os.environ["REIGEN_CUDA_ARENA_MB"] = "2"
    fake_gpu.begin()
    reigen.init()
    rank, size = reigen.rank(), reigen.size()
    names = list(range(TENSORS))
    check(rank, size, names, names, 0)
    check(rank, size, names, names[::-1], 1)
    check(rank, size, names[:: 1 - rank % 2 * 2], names, 2)
    for round_ in (3, 4):
        order = random.Random(size * round_ + rank).sample(names, TENSORS)
        check(rank, size, order, names, round_)
    reigen.shutdown()
    print("ok")


if __name__ == "__main__":
    main()
