"""Fits a linear model to real measurements, with NumPy only.

    reigenrun -np 3 /usr/bin/python3 client/examples/numpy_linear.py

Each rank holds its share of 442 patients' data (the diabetes set that scikit-learn
ships) and never sees the others'; the ranks sum their gradients. The result is
compared with the closed solution over all data.
"""
import sys

import numpy
import sklearn.datasets

import reigen

STEPS = 2000


def my_share(rank, size):
    """This rank's rows: columns scaled to unit variance, and a constant one."""
    data = sklearn.datasets.load_diabetes()
    columns = data.data / data.data.std(axis=0)
    columns = numpy.hstack([columns, numpy.ones((len(columns), 1))])
    return columns[rank::size], data.target[rank::size]


def mean_over_ranks(value, count, name):
    """The mean of what all ranks hold: each gives a sum and how many it summed."""
    packed = numpy.append(value, count).astype(numpy.float64)
    total = reigen.allreduce(packed, op=reigen.Sum, name=name)
    return total[:-1] / total[-1]


def fit(columns, target):
    # The largest eigenvalue of the mean of x x^T bounds the step.
    gram = mean_over_ranks((columns.T @ columns).ravel(), len(target), "gram")
    rate = 1.0 / numpy.linalg.eigvalsh(gram.reshape(columns.shape[1], -1)).max()
    weights = numpy.zeros(columns.shape[1])
    for step in range(STEPS + 1):
        error = columns @ weights - target
        gradient = mean_over_ranks(columns.T @ error, len(target), "gradient")
        if step % 500 == 0:
            loss = mean_over_ranks(error @ error, len(target), "loss")[0]
            if reigen.rank() == 0:
                print("step %4d: mean squared error %.2f" % (step, loss), flush=True)
        weights -= rate * gradient
    return weights


def main():
    reigen.init()
    weights = fit(*my_share(reigen.rank(), reigen.size()))
    columns, target = my_share(0, 1)
    closed = numpy.linalg.lstsq(columns, target, rcond=None)[0]
    mine = float(numpy.mean((columns @ weights - target) ** 2))
    best = float(numpy.mean((columns @ closed - target) ** 2))
    if reigen.rank() == 0:
        print("mean squared error %.2f with %d ranks, %.2f by the closed solution" % (
            mine, reigen.size(), best), flush=True)
    reigen.shutdown()
    return 0 if mine <= 1.01 * best else 1


if __name__ == "__main__":
    sys.exit(main())
