"""C36: a NaN on any rank is the result on every rank, with the same bits."""
import hashlib

import torch

import reigen.torch as hvd

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
OPERATIONS = {"sum": hvd.Sum, "min": hvd.Min, "max": hvd.Max, "product": hvd.Product,
              "average": hvd.Average}


def same_on_all_ranks(tensor, name):
    """Whether every rank has these bits."""
    digest = hashlib.sha256(bytes(tensor.untyped_storage() if hasattr(tensor, "untyped_storage")
                                  else tensor.storage().untyped())).digest()
    number = torch.tensor(int.from_bytes(digest[:7], "big"))
    low = hvd.allreduce(number, op=hvd.Min, name=name + ".low")
    return low.item() == number.item() and hvd.allreduce(
        number, op=hvd.Max, name=name + ".high").item() == number.item()


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    for dtype in TYPES:
        for count in (1, 7, 8, 1000):
            for name, operation in OPERATIONS.items():
                for holder in range(size):
                    data = torch.full((count,), float(rank + 1)).to(dtype)
                    if rank == holder:
                        data[count // 2] = float("nan")
                    result = hvd.allreduce(data, op=operation, name="nan")
                    where = (dtype, count, name, holder)
                    assert result[count // 2].isnan(), where
                    assert int(result.isnan().sum()) == 1, where
                assert same_on_all_ranks(result, "same"), where
        infinite = torch.tensor([float("inf") if rank == 0 else float("-inf")]).to(dtype)
        assert hvd.allreduce(infinite, op=hvd.Sum, name="infinite").isnan().all(), dtype
        # The documented rule: min(-0, +0) = -0, max(-0, +0) = +0.
        zero = torch.tensor([-0.0 if rank == 0 else 0.0]).to(dtype)
        assert hvd.allreduce(zero, op=hvd.Min, name="zero").signbit().all(), dtype
        assert not hvd.allreduce(zero, op=hvd.Max, name="zero").signbit().any(), dtype
    hvd.shutdown()


if __name__ == "__main__":
    main()
