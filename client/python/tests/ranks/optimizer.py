"""DistributedOptimizer trains as one process with the whole batch does.

Run: reigenrun -np 2..4 /usr/bin/python3 optimizer.py
"""

import gc
import warnings

import torch

import reigen.torch as hvd
from reigen import _start

ROWS_PER_RANK = 4


def make_model():
    torch.manual_seed(11)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2), torch.nn.Tanh()
    ).double()


def batch(step, rows):
    generator = torch.Generator().manual_seed(step)
    return torch.rand(rows, 5, generator=generator, dtype=torch.float64)


def loss_of(model, data):
    return model(data).pow(2).mean()


def assert_same(model, reference):
    for p, q in zip(model.parameters(), reference.parameters()):
        assert torch.allclose(p, q, rtol=1e-9, atol=1e-12), (p, q)


def train_both(rank, size, options, clip=None):
    """Steps of the distributed and of the plain optimizer side by side."""
    model, reference = make_model(), make_model()
    ours = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9),
        model.named_parameters(),
        **options,
    )
    plain = torch.optim.SGD(reference.parameters(), lr=0.5, momentum=0.9)
    for step in range(4):
        whole = batch(step, ROWS_PER_RANK * size)
        ours.zero_grad()
        loss_of(model, whole[rank * ROWS_PER_RANK : (rank + 1) * ROWS_PER_RANK]).backward()
        plain.zero_grad()
        loss_of(reference, whole).backward()
        if clip is not None:
            ours.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            torch.nn.utils.clip_grad_norm_(reference.parameters(), clip)
            with ours.skip_synchronize():
                ours.step()
        else:
            ours.step()
        plain.step()
        assert_same(model, reference)


class CountedStarts:
    """How many all-reduces started inside the `with`."""

    def __enter__(self):
        self.count = 0
        self.real = _start.start_allreduce

        def counted(*args):
            self.count += 1
            return self.real(*args)

        _start.start_allreduce = counted
        return self

    def __exit__(self, *_):
        _start.start_allreduce = self.real


def check_clipping(rank, size):  # C56
    with CountedStarts() as starts:
        train_both(rank, size, {}, clip=0.01)
    assert starts.count == 4 * 4, starts.count  # steps x parameters
    model = make_model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    with CountedStarts() as starts, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss_of(model, batch(rank, 4)).backward()
        optimizer.synchronize()
        optimizer.step()
    assert starts.count == 4 and len(caught) == 1, (starts.count, caught)


def check_accumulation(rank, size):  # C57
    model, reference = make_model(), make_model()
    ours = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), backward_passes_per_step=4
    )
    plain = torch.optim.SGD(reference.parameters(), lr=0.1)
    updates = 0
    for epoch in range(3):
        ours.zero_grad()  # drops what the epoch before left over
        plain.zero_grad()
        for micro in range(10):
            seed = 100 * epoch + micro
            loss_of(model, batch(seed * size + rank, 4)).backward()
            for other in range(size):
                (loss_of(reference, batch(seed * size + other, 4)) / size).backward()
            if (micro + 1) % 4 == 0:
                ours.step()
                plain.step()
                ours.zero_grad()
                plain.zero_grad()
                updates += 1
    assert updates == 6
    assert_same(model, reference)
    # A pass too many is an error, not a wrong sum.
    ours.zero_grad()
    for _ in range(4):
        loss_of(model, batch(rank, 4)).backward()
    try:
        loss_of(model, batch(rank, 4)).backward()
    except (AssertionError, RuntimeError) as error:
        assert "backward_passes_per_step" in str(error), error
    else:
        raise AssertionError("a fifth pass was taken")
    try:
        ours.zero_grad()
    except AssertionError:
        pass
    else:
        raise AssertionError("zero_grad() while gradients are reduced")
    ours.synchronize()


def check_unused_parameters(rank, size):
    first, second = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    both = torch.nn.ModuleList([first, second])
    hvd.broadcast_parameters(both.state_dict(), 0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(both.parameters(), lr=1.0), both.named_parameters()
    )
    optimizer.zero_grad()
    used = first if rank == 0 else second  # ranks use different parameters
    used(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert torch.allclose(first.weight.grad, torch.full((1, 3), 1.0 / size))
    assert torch.allclose(second.weight.grad, torch.full((1, 3), (size - 1.0) / size))


def check_parameters_that_come_later(rank, size):
    """Added to the optimizer, or frozen when it was made, or frozen since."""
    model, reference = make_model(), make_model()
    first, second = model[0], model[2]
    first.bias.requires_grad_(False)
    ours = hvd.DistributedOptimizer(
        torch.optim.SGD(first.parameters(), lr=0.1), first.named_parameters()
    )
    plain = torch.optim.SGD(reference.parameters(), lr=0.1)
    ours.add_param_group({"params": list(second.parameters())})
    for step in range(4):
        first.bias.requires_grad_(step >= 2)
        reference[0].bias.requires_grad_(step >= 2)
        second.weight.requires_grad_(step != 3)
        reference[2].weight.requires_grad_(step != 3)
        ours.zero_grad(set_to_none=True)
        plain.zero_grad(set_to_none=True)
        whole = batch(step, ROWS_PER_RANK * size)
        loss_of(model, whole[rank * ROWS_PER_RANK : (rank + 1) * ROWS_PER_RANK]).backward()
        loss_of(reference, whole).backward()
        ours.step()
        plain.step()
        assert_same(model, reference)
    assert second.weight.grad is None  # frozen: no zeros for weight decay to work on


def check_a_second_optimizer(rank, size):
    """The hooks of one that was dropped are gone with it."""
    model = make_model()
    for _ in range(2):
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters()
        )
        with CountedStarts() as starts:
            loss_of(model, batch(rank, 4)).backward()
            optimizer.step()
        assert starts.count == 4, starts.count
        del optimizer
        gc.collect()


def check_gradients_of_operations(rank, size):
    mine = torch.full((3,), float(rank + 1), requires_grad=True)
    hvd.allreduce(mine, op=hvd.Sum, prescale_factor=2.0).sum().backward()
    assert torch.equal(mine.grad, torch.full((3,), 2.0 * size))
    mine.grad = None
    (hvd.allreduce(mine) * (rank + 1)).sum().backward()
    assert torch.allclose(mine.grad, torch.full((3,), (size + 1) / 2))
    mine.grad = None
    hvd.broadcast(mine, size - 1).sum().backward()
    assert torch.equal(mine.grad, torch.full((3,), 1.0 if rank == size - 1 else 0.0))


def check_broadcasts(rank, size):
    model = make_model()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(rank)
    hvd.broadcast_parameters(model.state_dict(), size - 1)
    for p, q in zip(model.parameters(), make_model().parameters()):
        assert torch.equal(p, q + (size - 1))
    thing = hvd.broadcast_object({"rank": rank, "data": "x" * 100000}, size - 1, name="thing")
    assert thing["rank"] == size - 1 and len(thing["data"]) == 100000
    try:
        hvd.broadcast_object(iter([1]).__next__ if rank == 0 else None, 0)
    except Exception:  # noqa: the type is pickle's on the root, ours elsewhere
        pass
    assert hvd.broadcast_object(rank, 0) == 0


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    train_both(rank, size, {})
    train_both(rank, size, {"gradient_predivide_factor": 2.0})
    train_both(rank, size, {"groups": 2})
    check_clipping(rank, size)
    check_accumulation(rank, size)
    check_unused_parameters(rank, size)
    check_parameters_that_come_later(rank, size)
    check_a_second_optimizer(rank, size)
    check_gradients_of_operations(rank, size)
    check_broadcasts(rank, size)
    hvd.barrier()
    hvd.shutdown()
    print("ok", flush=True)


if __name__ == "__main__":
    main()
