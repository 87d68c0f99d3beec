"""How fast: beside ib_write_bw, and TCP over the same interfaces. Printed, not judged."""
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import jobs

# The three are measured in turn, so that other work of the machine meets all of them.
ROUNDS = 3 if jobs.LONG else 1
MIB = 1 << 20
# Size: iterations of ib_write_bw. Soft-RoCE takes messages of up to 8 MiB.
WRITES = {MIB: 20, 16 * MIB: 5}
MAX_MESSAGE = 8 * MIB
PERFTEST_PORT = 18515
LISTENING = "0A"  # in /proc/net/tcp


def wait_for_listener(port):
    """Without connecting to it: ib_write_bw takes one connection."""
    deadline = time.monotonic() + jobs.COMMAND_SECONDS
    while time.monotonic() < deadline:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table) as stream:
                for line in stream:
                    fields = line.split()
                    if fields[1].endswith(":%04X" % port) and fields[3] == LISTENING:
                        return
        time.sleep(0.2)
    raise AssertionError("nobody listens on port %d" % port)


class Speed(jobs.Case):
    @staticmethod
    def rows(command, transport, options=()):
        """What reigen-perf says: an all-reduce of n bytes by two ranks sends n from each."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            path = os.path.join(folder, "json")
            with jobs.Job(command + ["--json", path], transport, options) as job:
                job.succeed()
            with open(path) as stream:
                return json.load(stream)["rows"]

    def sent_mb_per_s(self, transport):
        """By size, of each rank, one all-reduce after the other."""
        return {row["bytes"]: row["busbw_gbps"] * 1000
                for row in self.rows(jobs.perf(("1MiB", "16MiB"), 7), transport)}

    def sent_at_once_mb_per_s(self):
        """Four all-reduces of 1 MiB on their way, as ib_write_bw has four writes."""
        command = ["reigen-perf", "--tensors", "4x1MiB", "--iters", "7", "--warmup", "1"]
        row = self.rows(command, "rdma", ["--fusion-threshold-mb", "1"])[0]
        return row["busbw_gbps"] * 1000

    @staticmethod
    def write_bw_mb_per_s(size):
        """ib_write_bw in both directions at once: what one end sends."""
        message = min(size, MAX_MESSAGE)
        command = ["ib_write_bw", "-x", "1", "-s", str(message), "-n", str(WRITES[size]), "-b",
                   "-F", "-u", "17", "-t", "4"]
        server = subprocess.Popen(command + ["-d", "rxe0"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        wait_for_listener(PERFTEST_PORT)
        output = jobs.check(command + ["-d", "rxe1", "127.0.0.1"])
        server.wait(jobs.COMMAND_SECONDS)
        line = re.findall(r"(?m)^\s*%d\s+\d+\s+\S+\s+(\S+)" % message, output)
        return float(line[-1]) * MIB / 1e6 / 2  # its MB are MiB, of both directions

    def test_speed_beside_the_bare_device_and_tcp(self):
        rounds = []
        for _ in range(ROUNDS):
            rounds.append({"rdma": self.sent_mb_per_s("rdma"),
                           "bare": {size: self.write_bw_mb_per_s(size) for size in WRITES},
                           "tcp": self.sent_mb_per_s("tcp"),
                           "at_once": {MIB: self.sent_at_once_mb_per_s()}})
        for size in WRITES:
            all_of = {what: [each[what][size] for each in rounds]
                      for what in rounds[0] if size in rounds[0][what]}
            # Not 0, as a device that does nothing but wait would have it.
            median = {what: max(statistics.median(values), 0.01)
                      for what, values in all_of.items()}
            print("speed: %d MiB, MB/s sent per rank, medians of %d: RDMA %.1f, ib_write_bw -b "
                  "%.1f (ratio %.2f), TCP %.1f (ratio %.2f); all: %s" % (
                      size // MIB, ROUNDS, median["rdma"], median["bare"],
                      median["rdma"] / median["bare"], median["tcp"],
                      median["rdma"] / median["tcp"],
                      ", ".join("%s %s" % (what, "/".join("%.1f" % value for value in values))
                                for what, values in all_of.items())), flush=True)
            if "at_once" in median:
                print("speed: 1 MiB, four at once: RDMA %.1f (ratio %.2f)" % (
                    median["at_once"], median["at_once"] / median["bare"]), flush=True)
            self.assertGreater(min(all_of["rdma"]), 0)
