"""Whole jobs on four hosts of two ranks."""
import json
import os
import re
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


class MatrixTest(NetworkCase):
    """Every operation on every type, exactly, also on hosts of unequal size."""

    def run_matrix(self, *slots):
        with Network([Host() for _ in slots]) as network:
            hosts = ",".join("%s:%d" % (host.name, number)
                             for host, number in zip(network.hosts, slots))
            with job.Job(network, ["-H", hosts],
                         ["reigen-perf", "--check", "--op", "all", "--dtype", "all", "--counts",
                          "0,1,7,1023,1048579", "--iters", "1", "--warmup", "0"]) as running:
                output = self.assert_succeeds(running, 600)
        self.assertIn("wrong elements on all ranks: 0", output)
        self.assertEqual(59 * 5, sum(1 for line in output.splitlines()
                                     if line.startswith("[0]<stdout>:  ")))

    def test_2_ranks_on_2_hosts(self):
        self.run_matrix(1, 1)

    def test_3_ranks_on_2_hosts(self):
        self.run_matrix(1, 2)

    def test_8_ranks_on_3_hosts(self):
        self.run_matrix(2, 3, 3)

    if os.environ.get("REIGEN_TEST_LONG"):
        def test_5_ranks_on_2_hosts(self):
            self.run_matrix(3, 2)

        def test_8_ranks_on_2_hosts(self):
            self.run_matrix(4, 4)

        def test_3_ranks_on_3_hosts(self):
            self.run_matrix(1, 1, 1)

        def test_5_ranks_on_3_hosts(self):
            self.run_matrix(2, 1, 2)


class SameBitsTest(NetworkCase):
    """R2: the bits of a sum do not depend on how tensors were fused."""

    def test_tensors_fused_in_twenty_random_ways_over_3_hosts(self):
        hashes = set()
        for threshold in ("128", "0.05", "0"):
            with Network([Host(), Host(), Host()]) as network, \
                    job.Job(network, ["-H", network.host_list(2), "--fusion-threshold-mb",
                                      threshold], job.trainer("fused.py")) as running:
                output = self.assert_succeeds(running, 120)
                hashes.update(re.findall(r"all rounds: (\w{64})", output))
        self.assertEqual(1, len(hashes), hashes)


class HalvesTest(NetworkCase):
    def test_c30_averages_of_halves_neither_overflow_nor_vanish_over_4_hosts(self):
        script = os.path.join(job.TREE, "tests/jobs/trainers/halves.py")
        with four_hosts() as network, \
                job.Job(network, ["-H", network.host_list(2)], [job.PYTHON, script]) as running:
            self.assert_succeeds(running)

    def test_c36_nan_wins_whichever_rank_holds_it_over_2_hosts(self):
        script = os.path.join(job.TREE, "tests/jobs/trainers/not_a_number.py")
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(2)], [job.PYTHON, script]) as running:
            self.assert_succeeds(running)


class DisagreementTest(NetworkCase):
    def test_c06_ranks_of_different_hosts_disagree(self):
        script = os.path.join(job.TREE, "client/python/tests/ranks/errors.py")
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(2)], [job.PYTHON, script]) as running:
            self.assert_succeeds(running)


if __name__ == "__main__":
    unittest.main()
