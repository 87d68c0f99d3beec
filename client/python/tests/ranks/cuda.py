"""CUDA tensors between ranks, on the fake GPU, where everything that nobody waits for
has not happened.

Run: LD_LIBRARY_PATH=<the fake's folder> reigenrun -np 3 /usr/bin/python3 cuda.py device
or, with --gpu-direct off, cuda.py host: where the tensors go between; or cuda.py mirrored:
rank 1 has no place for them on its GPU, so those of its host do without theirs.
"""

import hashlib
import os
import sys

import fake_gpu
import numpy as np
import torch

import reigen
import reigen.torch as hvd


def check_arrays(rank, size):
    stream = fake_gpu.new_stream()
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "bool"):
        for count in (1, 7, 1000, 70000):
            rows = np.arange(size * count).reshape(size, count) % 5 // (4 if dtype == "bool" else 1)
            rows = rows.astype(dtype)
            op = reigen.Max if dtype == "bool" else reigen.Sum
            expected = rows.max(0) if dtype == "bool" else rows.sum(0, dtype=dtype)
            array = fake_gpu.Array(rows[rank], stream)
            name = "%s.%d" % (dtype, count)
            assert reigen.allreduce_(array, op=op, name=name) is array
            assert np.array_equal(array.values(), expected), name
            fresh = fake_gpu.Array(rows[rank], stream)
            result = reigen.allreduce(fresh, op=op, name=name)
            assert isinstance(result, fake_gpu.Array)
            assert np.array_equal(result.values(), expected), name
            assert np.array_equal(fresh.values(), rows[rank]), name


def check_more(rank, size):
    stream = fake_gpu.new_stream()
    values = np.full((4, 6), rank, "float32")
    array = fake_gpu.Array(values, stream)
    reigen.broadcast_(array, 1, name="b")
    assert np.array_equal(array.values(), np.full((4, 6), 1)), "broadcast"
    several = [fake_gpu.Array(values[: n + 1], stream) for n in range(4)]
    reigen.grouped_allreduce_(several, op=reigen.Sum, name="g")
    total = sum(range(size))
    for n, one in enumerate(several):
        assert np.array_equal(one.values(), np.full((n + 1, 6), total)), "group"
    # Transposed on one rank alone: elements meet by their place in the shape.
    rows = np.arange(6, dtype="float32").reshape(2, 3)
    if rank == 0:
        mine = fake_gpu.Array(np.ascontiguousarray(rows.T), stream, (4, 8), (2, 3))
    else:
        mine = fake_gpu.Array(rows, stream)
    reigen.allreduce_(mine, op=reigen.Sum, name="t")
    expected = rows.T * size if rank == 0 else rows * size
    assert np.array_equal(mine.values(), expected), "strided"
    # Of what does not tell its stream the result is there for every stream.
    packed = fake_gpu.DlpackArray(values + 1, stream)
    assert reigen.allreduce_(packed, op=reigen.Sum, name="dlpack") is packed
    silent = fake_gpu.Array(values + 1, 1, tells_stream=False)
    assert reigen.allreduce_(silent, op=reigen.Sum, name="silent") is silent
    for array in (packed.array, silent):
        seen = array.values(fake_gpu.new_stream())
        assert np.array_equal(seen, np.full((4, 6), total + size)), "stream not told"
    # Many at once, in flight together.
    many = [fake_gpu.Array(np.full(n + 1, rank, "int32"), stream) for n in range(50)]
    handles = [
        reigen.allreduce_async_(one, op=reigen.Sum, name="m%d" % n) for n, one in enumerate(many)
    ]
    for n, handle in enumerate(handles):
        assert reigen.synchronize(handle) is many[n]
        assert np.array_equal(many[n].values(), np.full(n + 1, total))


def torch_calls(size):
    """What starts an operation of two tensors, and what comes of ones that hold the rank."""
    total = sum(range(size))
    return (
        (lambda a, b: hvd.allreduce_async_(a, op=hvd.Sum, name="t"), (total,)),
        (lambda a, b: hvd.allreduce_async(a, op=hvd.Sum, name="t"), (total,)),
        (lambda a, b: hvd.grouped_allreduce_async_([a, b], op=hvd.Sum, name="t"), (total, total)),
        (lambda a, b: hvd.grouped_allreduce_async([a, b], op=hvd.Max, name="t"), (size - 1,) * 2),
        (lambda a, b: hvd.broadcast_async_(a, 1, name="t"), (1,)),
        (lambda a, b: hvd.broadcast_async(a, 2, name="t"), (2,)),
        # Of NumPy's kind, which would see torch's tensors without their stream.
        (lambda a, b: reigen.allreduce_async_(a, op=reigen.Sum, name="t"), (total,)),
        (lambda a, b: reigen.allreduce_async(a, op=reigen.Sum, name="t"), (total,)),
    )


def check_torch(rank, size):
    fake_gpu.Streams.install()
    default = torch.cuda.default_stream()
    first = fake_gpu.FakeStream(fake_gpu.new_stream())
    second = fake_gpu.FakeStream(fake_gpu.new_stream())
    # Another stream may be current when the operation is waited for.
    for begin, end in ((first, first), (first, second), (default, second), (first, default)):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for number, (start, expected) in enumerate(torch_calls(size)):
                fake_gpu.Streams.current = begin
                tensors = [
                    fake_gpu.CudaTensor.make(torch.full(shape, float(rank)).to(dtype))
                    for shape in ((3, 5), (7,))
                ]
                handle = start(*tensors)
                fake_gpu.Streams.current = end
                result = hvd.synchronize(handle)
                results = result if isinstance(result, list) else [result]
                assert len(results) == len(expected), number
                for tensor, value in zip(results, expected):
                    seen = tensor.on_device(end)
                    where = (begin.cuda_stream, end.cuda_stream, dtype, number, seen)
                    assert torch.equal(seen, torch.full_like(seen, value)), where
                    assert begin is end or tensor.recorded == end.cuda_stream, where


def check_mixed(rank):
    stream = fake_gpu.new_stream()
    values = np.ones(9, "float32")
    mine = fake_gpu.Array(values, stream) if rank == 1 else values
    try:
        reigen.allreduce_(mine, name="mixed")
    except reigen.HorovodInternalError as error:
        assert "host memory on rank" in str(error), error
        assert "CUDA device on rank 1" in str(error), error
    else:
        raise AssertionError("ranks with tensors in other places were not refused")


def print_digest(rank):
    """Of sums whose bits depend on order and rounding."""
    stream = fake_gpu.new_stream()
    digest = hashlib.sha256()
    random = np.random.RandomState(rank)
    for dtype in ("float16", "float32", "float64"):
        for count in (5, 3000, 200000):  # the last one is large between hosts
            for op in (reigen.Sum, reigen.Average):
                array = fake_gpu.Array((random.randn(count) * 7).astype(dtype), stream)
                name = "digest.%s.%d.%s" % (dtype, count, op)
                reigen.allreduce_(array, op=op, name=name, prescale_factor=0.3)
                digest.update(array.values().tobytes())
    print("digest %s" % digest.hexdigest())


def check_path(path, local_size, host):
    """Where the tensors went: into no host memory, or back from there."""
    sent = fake_gpu.cuda.reigen_fake_cuda_calls(b"cuMemcpyHtoDAsync_v2")
    opened = fake_gpu.cuda.reigen_fake_cuda_calls(b"cuIpcOpenMemHandle_v2")
    if path == "device" or (path == "mirrored" and host > 0):
        assert sent <= local_size, sent  # each rank's memory is tried before it is used
        assert (opened > 0) == (local_size > 1), opened
    else:
        assert sent > 0, sent
        assert path == "mirrored" or opened == 0, opened


def check_fault(path, rank, size):
    """A GPU's fault on one rank: its tensors fail, those in host memory go on."""
    stream = fake_gpu.new_stream()
    if rank == 0:
        array = fake_gpu.Array(np.ones(9, "float32"), stream)
        # Of one whose tensors went to a device arena, or do not any more.
        fetch = b"cuMemcpyAsync" if path == "device" else b"cuMemcpyDtoHAsync_v2"
        fake_gpu.cuda.reigen_fake_cuda_fail(fetch, 700, 0)
        for _ in range(2):
            try:
                reigen.allreduce_(array, name="fault")
            except reigen.HorovodInternalError as error:
                assert "allreduce.fault: CUDA device 0" in str(error), error
                assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error), error
            else:
                raise AssertionError("a sticky error was not seen")
    total = reigen.allreduce(np.ones(3, "float32"), op=reigen.Sum, name="after")
    assert np.array_equal(total, np.full(3, size))


def main():
    path = sys.argv[1]
    if path == "mirrored" and os.environ["REIGEN_RANK"] == "1":
        os.environ["REIGEN_CUDA_ARENA_MB"] = "0"
    fake_gpu.begin()
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    check_arrays(rank, size)
    check_more(rank, size)
    check_torch(rank, size)
    check_mixed(rank)
    print_digest(rank)
    check_path(path, hvd.local_size(), hvd.cross_rank())
    check_fault(path, rank, size)
    hvd.shutdown()
    print("ok")


if __name__ == "__main__":
    main()
