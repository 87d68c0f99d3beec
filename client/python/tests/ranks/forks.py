"""Forked children do no harm (C48), data loaders of torch included.

Run: reigenrun -np 2..4 /usr/bin/python3 forks.py [rounds]
"""

import os
import sys

import numpy as np

import reigen

CHILDREN = 8


def child(number, shared):
    try:
        reigen.allreduce(np.ones(2))
    except reigen.HorovodInternalError as error:
        right = "forked process" in str(error)
    else:
        right = False
    garbage = [bytearray(1000) for _ in range(1000)]
    shared += 1  # its own copy by now
    right = right and shared.min() >= 2 and len(garbage) == 1000
    if number % 2 == 0:
        os._exit(0 if right else 1)
    sys.exit(0 if right else 1)  # runs the handlers of atexit


def fork_children(shared):
    children = []
    for number in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            child(number, shared)
        children.append(pid)
    return children


def check_forks(rounds):
    shared = np.ones(5000)
    for number in range(rounds):
        pending = reigen.allreduce_async(shared, op=reigen.Sum, name="pending")
        children = fork_children(shared)
        assert (reigen.synchronize(pending) == reigen.size()).all()
        for _ in range(20):
            assert (reigen.allreduce(shared, op=reigen.Sum, name="x") == reigen.size()).all()
        for pid in children:
            _, status = os.waitpid(pid, 0)
            assert status == 0, (number, status)


def check_data_loader():
    import torch  # not before the forks: its exit in a child takes seconds
    import reigen.torch as hvd

    data = torch.utils.data.TensorDataset(torch.arange(64.0))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2)
    total = sum(hvd.allreduce(rows, op=hvd.Sum).sum().item() for (rows,) in loader)
    assert total == 64 * 63 / 2 * hvd.size(), total


def main():
    reigen.init()
    check_forks(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    check_data_loader()
    # The interpreter ends with an operation pending and without shutdown().
    reigen.barrier()
    reigen.allreduce_async(np.ones(3), name="left")
    print("ok", flush=True)


if __name__ == "__main__":
    main()
