"""One rank of a job: are all-reduces of reigen.torch ordered with torch's streams? A part of gpu_check.

    reigenrun -np 2 python3 torch_order.py [--device cpu]    (the CPU: does this script work?)

Behind slow kernels a stream fills a tensor, whose all-reduce begins at once on it; another stream
takes the result, and the memory goes back while it still reads. Rank 0 prints a row for each pair.
"""
import argparse
import contextlib
import sys

import torch

import reigen.torch as hvd

COUNT = 1 << 20
ROUNDS = 3
SLEEP_CYCLES = int(1e8)  # about 50 ms


class Streams:
    """Of torch; on the CPU there are none, and all is done in order."""

    def __init__(self, device):
        self.is_cuda = device.type == "cuda"

    def make(self, kind):
        if not self.is_cuda:
            return None
        return torch.cuda.default_stream() if kind == "default" else torch.cuda.Stream()

    def on(self, stream):
        return torch.cuda.stream(stream) if self.is_cuda else contextlib.nullcontext()

    def sleep(self):
        if self.is_cuda:
            torch.cuda._sleep(SLEEP_CYCLES)

    def reads(self, stream, tensor):
        """The caller's tensor is for the caller to hold, a result is not."""
        if self.is_cuda:
            tensor.record_stream(stream)

    def wait(self):
        if self.is_cuda:
            torch.cuda.synchronize()


def is_right(device, streams, begin, end, in_place, name):
    """Of one all-reduce that begins on one stream and is taken by another."""
    with streams.on(begin):
        tensor = torch.full((COUNT,), -1.0, device=device)
        streams.sleep()
        tensor.fill_(hvd.rank() + 1)
        start = hvd.allreduce_async_ if in_place else hvd.allreduce_async
        handle = start(tensor, op=hvd.Sum, name=name)
    with streams.on(end):
        result = hvd.synchronize(handle)
        streams.sleep()
        taken = result.clone()
        if in_place:
            streams.reads(end, tensor)
        del result, tensor
    with streams.on(begin):  # takes that memory again, if it may
        other = [torch.full((COUNT,), -2.0, device=device) for _ in range(2)]
    streams.wait()
    del other
    return bool((taken == hvd.size() * (hvd.size() + 1) / 2).all())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = torch.device(parser.parse_args().device)
    hvd.init()
    streams = Streams(device)
    all_right = True
    for kinds in (("default", "default"), ("default", "side"), ("side", "default"), ("side", "side")):
        for in_place in (True, False):
            begin, end = (streams.make(kind) for kind in kinds)
            what = "%s, from a %s stream to a %s one" % (("in place" if in_place else "a new one",) + kinds)
            wrong = [i for i in range(ROUNDS)
                     if not is_right(device, streams, begin, end, in_place, what)]
            if wrong or hvd.rank() == 0:
                print("ROW %s|torch: %s|%s" % ("FAIL" if wrong else "pass", what, "wrong in rounds %s" % wrong
                                               if wrong else "%d rounds" % ROUNDS), flush=True)
            all_right = all_right and not wrong
    hvd.shutdown()
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
