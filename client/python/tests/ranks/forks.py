"""Forked children do no harm (C48), data loaders of torch included.

Run: reigenrun -np 2..4 /usr/bin/python3 forks.py
"""

import os
import sys

import torch

import reigen.torch as hvd

ROUNDS = 10
CHILDREN = 8


def child(number, shared):
    try:
        hvd.allreduce(torch.ones(2))
    except hvd.HorovodInternalError as error:
        right = "forked process" in str(error)
    else:
        right = False
    garbage = [bytearray(1000) for _ in range(1000)]
    right = right and shared.sum().item() >= 0 and len(garbage) == 1000
    if number % 2 == 0:
        os._exit(0 if right else 1)
    sys.exit(0 if right else 1)


def fork_children(shared):
    children = []
    for number in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            child(number, shared)
        children.append(pid)
    return children


def main():
    hvd.init()
    shared = torch.ones(5000)
    handle = hvd.allreduce_async(shared, op=hvd.Sum, name="before")
    hvd.synchronize(handle)
    for round_number in range(ROUNDS):
        pending = hvd.allreduce_async(shared, op=hvd.Sum, name="pending")
        children = fork_children(shared)
        assert hvd.synchronize(pending)[0] == hvd.size()
        for _ in range(20):
            assert hvd.allreduce(shared, op=hvd.Sum, name="x")[0] == hvd.size()
        for pid in children:
            _, status = os.waitpid(pid, 0)
            assert status == 0, (round_number, status)

    data = torch.utils.data.TensorDataset(torch.arange(64.0))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2)
    total = sum(hvd.allreduce(rows, op=hvd.Sum).sum().item() for (rows,) in loader)
    assert total == 64 * 63 / 2 * hvd.size(), total
    # The interpreter ends with handles pending and without shutdown().
    hvd.barrier()
    hvd.allreduce_async(torch.ones(3), name="left")
    print("ok", flush=True)


if __name__ == "__main__":
    main()
