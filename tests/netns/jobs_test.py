"""Whole jobs on four hosts of two ranks."""
import json
import os
import unittest

import job
import sshd
from cases import NetworkCase
from network import Host, Network

DIGITS = [job.PYTHON, os.path.join(job.TREE, "client/examples/digits_torch.py")]


def four_hosts():
    return Network([Host(), Host(), Host(), Host()])


class FourHostsTest(NetworkCase):
    def check_digits(self, output):
        self.assertIn("parameters of all 8 ranks are identical", output)
        self.assertRegex(output, r"accuracy on \d+ test samples: 9\d\.\d+ % with 8 ranks")

    def test_digits(self):
        with four_hosts() as network, \
                job.Job(network, ["-H", network.host_list(2)], DIGITS) as running:
            self.check_digits(self.assert_succeeds(running, 180))

    def test_digits_by_real_ssh(self):
        with four_hosts() as network, sshd.Servers(network) as servers, \
                job.Job(network, servers.arguments(2), DIGITS, rsh=None) as running:
            self.check_digits(self.assert_succeeds(running, 180))

    def test_every_operation_and_type_has_no_wrong_element(self):
        with four_hosts() as network:
            self.check_perf(network, ["--op", "all", "--dtype", "all", "--min", "8", "--max",
                                      "2MiB", "--factor", "64"], 6 * 10 - 1)

    def test_odd_sizes_have_no_wrong_element(self):
        with four_hosts() as network:
            for size in ("0", "24", "1000008", "4194328"):
                self.check_perf(network, ["--op", "all", "--dtype", "float32,int64,bfloat16",
                                          "--min", size, "--max", size], 18)

    def test_many_small_tensors_have_no_wrong_element(self):
        with four_hosts() as network:
            self.check_perf(network, ["--tensors", "300x4KiB"], 1)

    def test_partial_sums_of_halves_as_float32_have_no_wrong_element(self):
        with four_hosts() as network:
            self.check_perf(network, ["--op", "all", "--dtype", "float16,bfloat16", "--min", "8",
                                      "--max", "1MiB", "--factor", "1024"], 12,
                            ["--wire-precision", "fp32"])

    def check_perf(self, network, arguments, least_rows, launcher=()):
        """reigen-perf --check on all of the network's hosts finds nothing wrong."""
        with job.Job(network, ["-H", network.host_list(2)] + list(launcher),
                     ["reigen-perf", "--check", "--iters", "2", "--warmup", "1", "--json",
                      "results.json"] + arguments) as running:
            self.assert_succeeds(running, 300)
            with open("results.json") as stream:
                rows = json.load(stream)["rows"]
            os.unlink("results.json")
        self.assertGreaterEqual(len(rows), least_rows)
        self.assertEqual([], [row for row in rows if row["wrong"] != 0])


class ThreeHostsTest(NetworkCase):
    def test_a_number_of_hosts_that_is_no_power_of_two(self):
        with Network([Host(), Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(1)],
                        ["reigen-perf", "--check", "--op", "all", "--dtype",
                         "float32,float16,int8", "--iters", "2", "--min", "4", "--max", "1MiB",
                         "--factor", "32"]) as running:
            output = self.assert_succeeds(running, 120)
            self.assertIn("wrong elements on all ranks: 0", output)


if __name__ == "__main__":
    unittest.main()
