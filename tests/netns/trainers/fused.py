"""Sums the same tensors twenty times, enqueued in other orders and groups each time.

Prints one hash: of all results, the same in every round or the run fails.
"""
import hashlib
import random
import time

import numpy
import reigen

ROUNDS = 20


def make_tensors(rank):
    """Random numbers: any other order of additions shows in the last bits."""
    numbers = numpy.random.RandomState(100 + rank)
    sizes = [1, 3, 7, 64, 100, 1000, 1023, 4095, 4096, 4097, 5000, 9973, 20000, 65536, 100003]
    return {"%s.%d" % (dtype, size): numbers.standard_normal(size).astype(dtype)
            for dtype in ("float32", "float16", "float64") for size in sizes}


def run_round(tensors, order, numbers):
    handles = {}
    for name in order:
        handles[name] = reigen.allreduce_async(tensors[name], name=name, op=reigen.Sum)
        if numbers.random() < 0.2:
            time.sleep(numbers.random() * 0.002)
    digest = hashlib.sha256()
    for name in sorted(handles):
        digest.update(reigen.synchronize(handles[name]).tobytes())
    return digest.hexdigest()


def main():
    reigen.init()
    rank = reigen.rank()
    tensors = make_tensors(rank)
    numbers = random.Random(1000 + rank)  # every rank enqueues in an order of its own
    found = set()
    for _ in range(ROUNDS):
        order = list(tensors)
        numbers.shuffle(order)
        found.add(run_round(tensors, order, numbers))
    first = reigen.broadcast_object(sorted(found), root_rank=0)
    assert sorted(found) == first and len(found) == 1, (rank, found)
    if rank == 0:
        print("all rounds: %s" % found.pop(), flush=True)
    reigen.shutdown()


if __name__ == "__main__":
    main()
