"""Trains a classifier of handwritten digits on all ranks of the job.

    reigenrun -np 4 /usr/bin/python3 client/examples/digits_torch.py

The data are 1797 real digits of 8x8 pixels (the UCI set that scikit-learn ships).
Rank 0 then trains the same model in one process with the same global batches: the
job must end with the same parameters on every rank, and with the same accuracy.
"""
import argparse
import copy
import hashlib
import sys
import time

import numpy
import sklearn.datasets
import torch

import reigen.torch as hvd

TEST_SAMPLES = 901
GLOBAL_BATCH = 64
ALLOWED_DIFFERENCE = 0.005  # of the accuracies: half a point


def load_digits():
    """Train images, train labels, test images, test labels: the same on every rank."""
    digits = sklearn.datasets.load_digits()
    order = numpy.random.RandomState(0).permutation(len(digits.target))
    images = torch.tensor(digits.data[order] / 16.0, dtype=torch.float32)
    labels = torch.tensor(digits.target[order], dtype=torch.int64)
    split = len(labels) - TEST_SAMPLES
    return images[:split], labels[:split], images[split:], labels[split:]


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(),
                               torch.nn.Linear(128, 10))


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train_one_epoch(model, optimizer, images, labels, epoch, rank, size):
    """Trains on this rank's share of each global batch; returns the summed loss."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
    summed_loss = 0.0
    for begin in range(0, len(order) - GLOBAL_BATCH + 1, GLOBAL_BATCH):
        mine = order[begin + rank:begin + GLOBAL_BATCH:size]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[mine]), labels[mine],
                                                 reduction="sum")
        # The optimizer averages over ranks: the mean over the global batch remains,
        # also when the ranks' shares differ by one.
        (loss * size / GLOBAL_BATCH).backward()
        optimizer.step()
        summed_loss += loss.item()
    return summed_loss


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def parameter_hash(model):
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def train_in_one_process(model, data, epochs):
    images, labels, test_images, test_labels = data
    optimizer = make_optimizer(model)
    for epoch in range(epochs):
        train_one_epoch(model, optimizer, images, labels, epoch, 0, 1)
    return accuracy(model, test_images, test_labels)


def train(model, data, epochs):
    """Trains on all ranks; rank 0 prints a line for each training epoch."""
    images, labels, test_images, test_labels = data
    optimizer = hvd.DistributedOptimizer(make_optimizer(model),
                                         named_parameters=model.named_parameters())
    samples = len(labels) // GLOBAL_BATCH * GLOBAL_BATCH
    for epoch in range(epochs):
        begin = time.monotonic()
        summed_loss = train_one_epoch(model, optimizer, images, labels, epoch, hvd.rank(),
                                      hvd.size())
        seconds = time.monotonic() - begin
        loss = hvd.allreduce(torch.tensor(summed_loss, dtype=torch.float64), op=hvd.Sum,
                             name="loss").item() / samples
        slowest = hvd.allreduce(torch.tensor(seconds), op=hvd.Max, name="seconds").item()
        if hvd.rank() == 0:
            print("epoch %2d: loss %.4f, accuracy %.2f %%, %.0f images/s" % (
                epoch + 1, loss, 100 * accuracy(model, test_images, test_labels),
                samples / slowest), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Trains a classifier of digits.")
    parser.add_argument("--epochs", type=int, default=20, help="passes over the data")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu",
                        help="cuda: ranks share the host's GPUs in turn")
    options = parser.parse_args()

    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no GPU")
    torch.set_num_threads(1)
    hvd.init()
    device = torch.device("cpu")
    if options.device == "cuda":
        device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    data = [part.to(device) for part in load_digits()]
    model = make_model().to(device)
    alone = copy.deepcopy(model)
    if hvd.rank() != 0:  # what only the broadcast can undo
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    train(model, data, options.epochs)

    mine = parameter_hash(model)
    same = int(mine == hvd.broadcast_object(mine, root_rank=0))
    all_same = hvd.allreduce(torch.tensor(same), op=hvd.Min, name="same").item() == 1
    reached = accuracy(model, data[2], data[3])
    reference = None
    if hvd.rank() == 0:
        reference = train_in_one_process(alone, data, options.epochs)
    reference = hvd.broadcast_object(reference, root_rank=0)
    close = abs(reached - reference) <= ALLOWED_DIFFERENCE
    if hvd.rank() == 0:
        print("parameters of all %d ranks are %s: sha256 %s" % (
            hvd.size(), "identical" if all_same else "NOT identical", mine))
        print("accuracy on %d test samples: %.2f %% with %d ranks, %.2f %% in one process" % (
            TEST_SAMPLES, 100 * reached, hvd.size(), 100 * reference), flush=True)
        if not close:
            print("the accuracies differ by more than %.1f points" % (100 * ALLOWED_DIFFERENCE))
    hvd.shutdown()
    return 0 if all_same and close else 1


if __name__ == "__main__":
    sys.exit(main())
