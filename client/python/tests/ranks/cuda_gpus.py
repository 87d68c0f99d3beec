"""Trainers that use two GPUs each, in other orders and some of them the same; what is not on
a trainer's first one goes through host memory, and all sums are right.

Run: as cuda.py, without an argument, on 3 ranks.
"""

import os

VISIBLE = ("0,1", "1,0", "1")[int(os.environ["REIGEN_RANK"])]
os.environ["CUDA_VISIBLE_DEVICES"] = VISIBLE  # before the driver is loaded

import fake_gpu
import numpy as np

import reigen


def check(name, device, rank, size):
    fake_gpu.begin(device)
    stream = fake_gpu.new_stream()
    for count in (9, 200000):
        array = fake_gpu.Array(np.full(count, rank + 1, "float32"), stream)
        reigen.allreduce_(array, op=reigen.Sum, name="%s.%d" % (name, count))
        assert np.array_equal(array.values(), np.full(count, size * (size + 1) // 2)), name
    values = np.full(5, rank, "int32")
    group = [fake_gpu.Array(values + n, stream) for n in range(3)]
    reigen.grouped_allreduce_(group, op=reigen.Sum, name=name + ".group")
    for n, array in enumerate(group):
        assert np.array_equal(array.values(), np.full(5, size * (size - 1) // 2 + size * n)), name
    one = fake_gpu.Array(values, stream)
    reigen.broadcast_(one, 1, name=name + ".broadcast")
    assert np.array_equal(one.values(), np.full(5, 1)), name


def main():
    fake_gpu.begin()
    reigen.init()
    rank, size = reigen.rank(), reigen.size()
    last = VISIBLE.count(",")
    for round_ in range(2):
        check("first%d" % round_, 0, rank, size)
        sent = fake_gpu.cuda.reigen_fake_cuda_calls(b"cuMemcpyHtoDAsync_v2")
        tried = reigen.local_size()  # each rank's memory, before it is used
        assert round_ > 0 or sent <= tried, "not on the GPUs alone"
        check("last%d" % round_, last, rank, size)
        # On the first GPU of some ranks and the second one of others.
        check("other%d" % round_, last if rank == round_ else 0, rank, size)
    reigen.shutdown()
    print("ok")


if __name__ == "__main__":
    main()
