"""Every dtype x op against exact references (C32), empty tensors (C33), views (C35).

Run: reigenrun -np 2..4 /usr/bin/python3 dtypes.py
"""

import numpy as np
import torch

import reigen
import reigen.torch as hvd

OPS = {
    "sum": (hvd.Sum, lambda rows: rows.sum(0)),
    "average": (hvd.Average, lambda rows: rows.sum(0) / len(rows)),
    "min": (hvd.Min, lambda rows: rows.amin(0)),
    "max": (hvd.Max, lambda rows: rows.amax(0)),
    "product": (hvd.Product, lambda rows: rows.prod(0)),
}
INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def inputs(size, count, dtype):
    """What each rank has: small numbers, exact in every dtype."""
    generator = torch.Generator().manual_seed(count)
    return torch.randint(0, 4, (size, count), generator=generator).to(dtype)


def check_numbers(rank, size):
    for dtype in INTS + FLOATS:
        for count in (1, 7, 1023, 70000):
            rows = inputs(size, count, dtype)
            for name, (op, reference) in OPS.items():
                expected = reference(rows.double())
                if not dtype.is_floating_point:
                    expected = expected.trunc()
                got = hvd.allreduce(rows[rank], op=op, name="%s.%s.%d" % (name, dtype, count))
                assert got.dtype == dtype
                assert torch.allclose(got.double(), expected, rtol=1e-2), (name, dtype, count)


def check_bool(rank, size):
    rows = torch.rand(size, 100, generator=torch.Generator().manual_seed(1)) > 0.5
    for op, expected in (
        (hvd.Max, rows.any(0)),
        (hvd.Sum, rows.any(0)),
        (hvd.Min, rows.all(0)),
        (hvd.Product, rows.all(0)),
    ):
        assert torch.equal(hvd.allreduce(rows[rank], op=op), expected)
    root = size - 1
    assert torch.equal(hvd.broadcast(rows[rank], root), rows[root])
    for arguments in ({"op": hvd.Average}, {"op": hvd.Sum, "prescale_factor": 2.0}):
        try:
            hvd.allreduce(rows[rank], name="flags", **arguments)
        except ValueError as error:
            assert "bool" in str(error) and "allreduce.flags" in str(error), error
        else:
            raise AssertionError("bool has no average and no scale")


def check_bfloat16(rank, size):
    # Added in float32 inside a host and rounded once there: 256 + 1 + 1 is 258, which
    # bfloat16 has; 256 + 1 rounded in between would stay 256. Between hosts partial
    # sums travel as bfloat16.
    mine = torch.full((3,), 256.0 if rank == 0 else 1.0, dtype=torch.bfloat16)
    got = hvd.allreduce(mine, op=hvd.Sum)
    exact = 255.0 + size
    if hvd.local_size() == size:
        assert torch.equal(got, torch.full((3,), exact).to(torch.bfloat16)), got
    hosts = size  # no more than that
    assert (got.float() - exact).abs().max() <= (hosts + 1) * 2.0**-8 * exact, got


def check_empty(rank, size):
    one = torch.full((5,), float(rank + 1))
    total = size * (size + 1) / 2
    for shape in ((0,), (1, 0, 2), ()):
        for op in (hvd.Sum, hvd.Average, hvd.Min, hvd.Max, hvd.Product):
            empty = torch.ones(shape)
            assert hvd.allreduce(empty, op=op).shape == shape
        assert hvd.broadcast(torch.ones(shape), 0).shape == shape
        results = hvd.grouped_allreduce([torch.ones(shape), one], op=hvd.Sum)
        assert results[0].shape == shape and results[1][4] == total, results
    assert hvd.allreduce(one, op=hvd.Sum)[0] == total


def check_views(rank, size):
    total = size * (size + 1) / 2
    base = np.arange(96, dtype=np.float64).reshape(8, 12)
    views = {
        "column": lambda m: m[:, 2],
        "transposed": lambda m: m.T,
        "reversed": lambda m: m[::-1, ::-3],
    }
    for name, view in views.items():
        memory = base * (rank + 1)
        out = view(memory)
        reigen.allreduce_(out, op=reigen.Sum, name=name)
        expected = base * (rank + 1)
        view(expected)[...] = view(base) * total
        np.testing.assert_array_equal(memory, expected)
        np.testing.assert_array_equal(
            reigen.allreduce(view(base * (rank + 1)), op=reigen.Sum, name=name),
            view(base) * total,
        )
        memory = base * (rank + 1)
        reigen.broadcast_(view(memory), size - 1, name=name)
        np.testing.assert_array_equal(view(memory), view(base) * size)
    last = torch.arange(48.0).reshape(2, 3, 2, 4).to(memory_format=torch.channels_last)
    assert torch.equal(hvd.allreduce(last * (rank + 1), op=hvd.Sum), last * total)
    expanded = torch.full((1, 3), float(rank + 1)).expand(4, 3)
    assert torch.equal(hvd.allreduce(expanded, op=hvd.Sum), torch.full((4, 3), total))
    try:
        hvd.allreduce_(expanded)
    except ValueError as error:
        assert "overlap" in str(error)
    else:
        raise AssertionError("an expanded view cannot hold a result")


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    for check in (check_numbers, check_bool, check_bfloat16, check_empty, check_views):
        check(rank, size)
    hvd.barrier()
    hvd.shutdown()
    print("ok", flush=True)


if __name__ == "__main__":
    main()
