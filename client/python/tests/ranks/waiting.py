"""Waits hold neither the GIL nor signals back (C59).

Run: reigenrun -np 2..4 /usr/bin/python3 waiting.py
"""

import os
import signal
import threading
import time

import torch

import reigen.torch as hvd

OPERATIONS = 5000
# A wait that held the GIL would stop the counter for as long as it lasts, here
# LATE_SECONDS. An idle machine stays under 0.1 s; a busy one needs room.
LATE_SECONDS = 3.0
LONGEST_PAUSE_SECONDS = 1.5


class Counter(threading.Thread):
    """Counts, and remembers its longest pause."""

    def __init__(self):
        super().__init__(daemon=True)
        self.running = True
        self.longest_seconds = 0.0

    def run(self):
        last = time.monotonic()
        while self.running:
            time.sleep(0.001)
            now = time.monotonic()
            self.longest_seconds = max(self.longest_seconds, now - last)
            last = now


def check_dropped_tensors(size):
    counter = Counter()
    counter.start()
    handles = []
    for i in range(OPERATIONS):
        handles.append(hvd.allreduce_async(torch.full((257,), float(i)), op=hvd.Sum))
    for i, handle in enumerate(handles):
        result = hvd.synchronize(handle)
        assert result[256] == float(i) * size, (i, result)
    for _ in range(100):
        hvd.allreduce_async(torch.ones(10000))  # its handle is dropped too
    hvd.barrier()
    counter.running = False
    counter.join()
    assert counter.longest_seconds < LONGEST_PAUSE_SECONDS, counter.longest_seconds


def check_interrupt(rank):
    """Rank 1 comes late; rank 0 is interrupted while it waits, and goes on."""
    if rank == 1:
        time.sleep(LATE_SECONDS)
    counter = Counter()
    counter.start()
    handle = hvd.allreduce_async(torch.ones(5), op=hvd.Sum, name="late")
    if rank == 0:
        sent = []

        def interrupt():
            time.sleep(0.5)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            hvd.synchronize(handle)
        except KeyboardInterrupt:
            assert time.monotonic() - sent[0] < 1.0
        else:
            raise AssertionError("SIGINT did not arrive")
        thread.join()
    assert hvd.synchronize(handle)[0] == hvd.size()
    counter.running = False
    counter.join()
    assert counter.longest_seconds < LONGEST_PAUSE_SECONDS, counter.longest_seconds


def main():
    called = []
    signal.signal(signal.SIGTERM, lambda *_: called.append(1))
    hvd.init()
    check_dropped_tensors(hvd.size())
    check_interrupt(hvd.rank())
    os.kill(os.getpid(), signal.SIGTERM)
    hvd.barrier()
    assert called, "the handler set before init did not run"
    hvd.shutdown()
    print("ok", flush=True)


if __name__ == "__main__":
    main()
