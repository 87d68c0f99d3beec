"""Which networks a job uses: chosen by reachability, never docker0 or loopback."""
import re
import subprocess
import unittest

import job
from cases import NetworkCase
from network import Host, Network

STEPS = job.trainer("steps.py") + ["20"]
# A job that can be looked at while it runs.
SLOW_STEPS = job.trainer("steps.py") + ["100", "0.05"]
MEBIBYTES = 16
HOLD = """
import socket, time
held = socket.create_server(("%s", 24000))
print("held", flush=True)
time.sleep(120)
"""


class C21AddressesTest(NetworkCase):
    def test_c21_hosts_with_ipv6_only(self):
        with Network([Host(), Host()], ipv4=False, ipv6=True) as network, \
                job.Job(network, ["-H", network.host_list(1), "--verbose"], STEPS) as running:
            output = self.assert_succeeds(running)
            self.assertIn("fd77::", output)

    def test_c21_hosts_with_both_families(self):
        with Network([Host(), Host()], ipv6=True) as network, \
                job.Job(network, ["-H", network.host_list(1)], STEPS) as running:
            self.assert_succeeds(running)


class C22WrongNetworkCardTest(NetworkCase):
    """Hosts with docker0 of one address, and cards of different names."""

    def two_hosts(self):
        return Network([Host("eth0", docker=True), Host("ens5", docker=True)], hub_docker=True)

    def perf(self):
        return ["reigen-perf", "--min", "%dMiB" % MEBIBYTES, "--max", "%dMiB" % MEBIBYTES,
                "--iters", "2", "--warmup", "1", "--check"]

    def check_job(self, arguments):
        with self.two_hosts() as network, \
                job.Job(network, ["-H", network.host_list(1), "--log-level", "info"] + arguments,
                        self.perf()) as running:
            output = self.assert_succeeds(running)
            for host in network.hosts:
                self.assertIn(host.ipv4, output)
                self.assertGreater(host.card_bytes(), MEBIBYTES << 20, host.card)
                self.assertLess(host.card_bytes("docker0"), 1 << 20)
            self.assertNotRegex(output, r"172\.17\.0\.1:\d")

    def test_c22_chosen_without_being_told(self):
        self.check_job([])

    def test_c22_chosen_by_a_network(self):
        self.check_job(["--network-interface", "10.77.0.0/24"])

    def test_c22_a_card_that_a_host_lacks_is_an_error_naming_both(self):
        with self.two_hosts() as network, \
                job.Job(network, ["-H", network.host_list(1), "--network-interface",
                                  "lan0,eth0"], STEPS) as running:
            code, output = running.wait(30)
            self.assertNotEqual(0, code)
            self.assertIn(network.hosts[1].name, output)
            self.assertIn("eth0", output)
            running.check_nothing_left(self)


class C52ListenersTest(NetworkCase):
    """Only the chosen address listens, and strangers do no harm."""

    def test_c52_between_hosts_only_the_chosen_addresses_listen(self):
        with Network([Host(docker=True), Host(docker=True)]) as network, \
                job.Job(network, ["-H", network.host_list(2)], SLOW_STEPS) as running:
            running.wait_for_output(r"step 1\b")
            for space in network.spaces():
                found = space.listeners()
                self.assertTrue(found, space.name)
                for address, _, line in found:
                    self.assertEqual(space.ipv4, address, line)
            self.disturb(network)
            self.assert_succeeds(running)

    def test_c52_on_one_host_only_loopback_listens(self):
        with Network([Host()]) as network, \
                job.Job(network, ["-np", "2"], SLOW_STEPS, rsh=None) as running:
            running.wait_for_output(r"step 1\b")
            for address, _, line in network.hub.listeners():
                self.assertIn(address, ("127.0.0.1", "::1"), line)
            self.assert_succeeds(running)

    def test_c52_the_port_range_is_kept(self):
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(1), "--port-range", "24000-24009"],
                        SLOW_STEPS) as running:
            running.wait_for_output(r"step 1\b")
            for space in network.spaces():
                for _, port, line in space.listeners():
                    self.assertIn(port, range(24000, 24010), line)
            self.assert_succeeds(running)

    def test_a_port_range_without_a_free_port_is_the_reason_and_nothing_else(self):
        with Network([Host(), Host()]) as network:
            full = network.hosts[1]
            holder = subprocess.Popen(full.command(
                [job.PYTHON, "-c", HOLD % full.ipv4]), stdout=subprocess.PIPE, text=True)
            self.assertEqual("held\n", holder.stdout.readline())
            try:
                with job.Job(network, ["-H", network.host_list(1), "--transport", "tcp",
                                       "--port-range", "24000-24000"], SLOW_STEPS) as running:
                    code, output = running.wait(60)
                    running.check_nothing_left(self)
            finally:
                holder.kill()
                holder.communicate()
            self.assertEqual(71, code, output)
            self.assertRegex(output, r"reigenrun: host 1 \(%s\): .*24000" % full.name)
            self.assertNotRegex(output, "the worker ended|exit 7|last words")

    def test_c52_the_secret_is_in_no_command_line_and_no_environment(self):
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(1)], SLOW_STEPS) as running:
            running.wait_for_output(r"step 1\b")
            processes = running.processes()
            self.assertGreaterEqual(len(processes), 8)
            for process in processes:
                for word in process.argv + list(process.environment.values()):
                    self.assertIsNone(re.fullmatch(r"[0-9a-fA-F]{32,}", word), process.argv)
                self.assertFalse([name for name in process.environment if "SECRET" in name])
            self.assert_succeeds(running)

    def disturb(self, network):
        """Sends rubbish to every listener, from the other side of the network."""
        for space in network.spaces():
            for address, port, _ in space.listeners():
                code = ("import os, socket\n"
                        "for size in (1, 100, 100000):\n"
                        "    s = socket.create_connection((%r, %d), 5)\n"
                        "    try:\n"
                        "        s.sendall(os.urandom(size))\n"
                        "    except OSError:\n"
                        "        pass\n"
                        "    s.close()\n" % (address, port))
                subprocess.run(network.hosts[0].command([job.PYTHON, "-c", code]), check=True)


if __name__ == "__main__":
    unittest.main()
