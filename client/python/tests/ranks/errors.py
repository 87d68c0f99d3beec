"""Ranks that disagree: every rank gets the error within 2 s, the next works.

Run: reigenrun -np 2..4 /usr/bin/python3 errors.py
"""

import time

import torch

import reigen.torch as hvd


def expect_disagreement(start, *parts):
    began = time.monotonic()
    try:
        start()
    except hvd.HorovodInternalError as error:
        for part in parts:
            assert part in str(error), (part, str(error))
    else:
        raise AssertionError("expected a disagreement: %s" % (parts,))
    assert time.monotonic() - began < 2.0
    total = hvd.allreduce(torch.ones(3), op=hvd.Sum, name="after")
    assert total[0] == hvd.size()


def disagree_after_agreement(odd):
    """Each field, under a name that has been agreed on ten times; and again after that."""
    def reduce(count=4, dtype=torch.float32, group=1, **options):
        tensors = [torch.ones(count, dtype=dtype)] * group
        return hvd.grouped_allreduce(tensors, name="known", **options)

    fields = {
        "shape": {"count": 5}, "dtype": {"dtype": torch.float64}, "op": {"op": hvd.Max},
        "prescale": {"prescale_factor": 2.0}, "postscale": {"postscale_factor": 2.0},
        "number of tensors": {"group": 2},
    }
    for field, change in fields.items():
        for _ in range(2):
            for _ in range(10):
                assert reduce()[0][0] == 1.0
            expect_disagreement(lambda: reduce(**(change if odd else {})), "known", field)
    for _ in range(10):
        hvd.broadcast(torch.ones(4), 0, name="known")
    expect_disagreement(lambda: hvd.broadcast(torch.ones(4), int(odd), name="known"), "root")
    for step in range(3):
        hvd.allreduce(torch.ones(4), name="one name")
    assert hvd.broadcast(torch.full((4,), float(hvd.rank())), 1, name="one name")[0] == 1.0


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    odd = rank == size - 1
    disagree_after_agreement(odd)
    expect_disagreement(
        lambda: hvd.allreduce(torch.ones(4, 3 if odd else 2), name="shape"),
        "allreduce.shape", "shape", "[4,2]", "[4,3]", str(size - 1),
    )
    expect_disagreement(
        lambda: hvd.allreduce(torch.ones(4, dtype=torch.int32 if odd else torch.float32),
                              name="dtype"),
        "allreduce.dtype", "int32", "float32",
    )
    expect_disagreement(
        lambda: hvd.allreduce(torch.ones(4), op=hvd.Max if odd else hvd.Sum, name="op"),
        "allreduce.op", "max", "sum",
    )
    expect_disagreement(
        lambda: hvd.allreduce(torch.ones(4), prescale_factor=2.0 if odd else 1.0, name="scale"),
        "allreduce.scale", "scale",
    )
    expect_disagreement(
        lambda: hvd.broadcast(torch.ones(4), 1 if odd else 0, name="root"),
        "broadcast.root", "root",
    )
    expect_disagreement(
        lambda: hvd.grouped_allreduce([torch.ones(2)] * (3 if odd else 2), name="group"),
        "allreduce.group",
    )
    # One name twice at a time on one rank: an error there, before anything moves.
    if rank == 0:
        first = hvd.allreduce_async(torch.ones(2), name="twice", op=hvd.Sum)
        try:
            hvd.allreduce_async(torch.ones(2), name="twice", op=hvd.Sum)
        except ValueError as error:
            assert "duplicate" in str(error)
        else:
            raise AssertionError("a duplicate name was taken")
    hvd.barrier()
    if rank != 0:
        first = hvd.allreduce_async(torch.ones(2), name="twice", op=hvd.Sum)
    assert hvd.synchronize(first)[0] == size
    hvd.shutdown()
    print("ok", flush=True)


if __name__ == "__main__":
    main()
