"""Prints 10 000 numbered lines of 200 bytes to both streams, a progress bar and a
last piece without an end. Writes the longest time a write took to JOB_FOLDER.
"""
import os
import time

LINES = 10000
rank = os.environ["REIGEN_RANK"]
longest = 0.0


def put(fd, data):
    global longest
    while data:
        begin = time.monotonic()
        count = os.write(fd, data)
        longest = max(longest, time.monotonic() - begin)
        data = data[count:]


for number in range(LINES):
    for fd in (1, 2):
        line = b"%d %d %s " % (fd, number, rank.encode())
        put(fd, line + b"x" * (199 - len(line)) + b"\n")
for percent in range(0, 101, 10):
    put(1, b"\rbar %d%%" % percent)
put(1, b"\n")
for fd in (1, 2):
    put(fd, b"tail %d of %s" % (fd, rank.encode()))
with open(os.path.join(os.environ["JOB_FOLDER"], "longest." + rank), "w") as stream:
    stream.write(str(longest))
