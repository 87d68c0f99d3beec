"""How fast: beside ib_write_bw, and TCP over the same interfaces. Printed, not judged."""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

import jobs


class Speed(unittest.TestCase):
    @staticmethod
    def sent_mb_per_s(size, iterations, transport):
        """Of each rank: an all-reduce of n bytes by two ranks sends n bytes from each."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            path = os.path.join(folder, "json")
            with jobs.Job(jobs.perf((size, size), iterations, ["--json", path]),
                          transport=transport) as job:
                job.succeed()
            with open(path) as stream:
                return json.load(stream)["rows"][0]["busbw_gbps"] * 1000

    @staticmethod
    def write_bw_mb_per_s(size, iterations):
        """ib_write_bw in both directions at once: what one end sends."""
        command = ["ib_write_bw", "-x", "1", "-s", str(size), "-n", str(iterations), "-b", "-F",
                   "-u", "17", "-t", "4", "--report_gbits"]
        server = subprocess.Popen(command + ["-d", "rxe0"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(1)
        output = jobs.check(command + ["-d", "rxe1", "127.0.0.1"], 120)
        server.wait(30)
        line = re.findall(r"(?m)^\s*%d\s+\d+\s+\S+\s+(\S+)" % size, output)
        return float(line[-1]) * 1000 / 8 / 2

    def test_speed_beside_the_bare_device_and_tcp(self):
        for size, mib, iterations in (("1MiB", 1, 10), ("16MiB", 16, 3)):
            bare = self.write_bw_mb_per_s(min(mib, 8) << 20, 10 if mib == 1 else 5)
            rdma = self.sent_mb_per_s(size, iterations, "rdma")
            tcp = self.sent_mb_per_s(size, iterations, "tcp")
            print("speed: %s: RDMA %.1f MB/s sent per rank, ib_write_bw -b %.1f (ratio %.2f), "
                  "TCP %.1f (ratio %.2f)" % (size, rdma, bare, rdma / bare, tcp, rdma / tcp),
                  flush=True)
            self.assertGreater(rdma, 0)
