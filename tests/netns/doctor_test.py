"""reigenctl doctor over hosts, as reigenrun would reach them."""
import json
import os
import re
import subprocess
import unittest

import job
from cases import NetworkCase
from network import Host, Network


class DoctorTest(NetworkCase):
    def doctor(self, network, hosts, arguments=()):
        """(exit code, output) of a look at these from the hub."""
        argv = ["reigenctl", "doctor", "-H", hosts, "--rsh", job.RSH] + list(arguments)
        done = subprocess.run(network.hub.command(argv), text=True, capture_output=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual("", done.stderr if done.returncode == 0 else "")
        return done.returncode, done.stdout + done.stderr

    def test_hosts_are_looked_at_and_said_to_be_well(self):
        with Network([Host("eth0", docker=True), Host("ens5")], ipv6=True) as network:
            code, output = self.doctor(network, network.host_list(2))
            self.assertEqual(0, code, output)
            for host in network.hosts:
                self.assertRegex(output, r"(?m)^%s: Reigen \S+, no problem$" % host.name)
                self.assertRegex(output, r"(?m)^    ok +%s +up, .*%s, %s.*: between hosts$" % (
                    host.card, re.escape(host.ipv4), host.ipv6))
            self.assertRegex(output, r"(?m)^    ok +docker0 .*172\.17\.0\.1.*: not used$")

            code, output = self.doctor(network, network.host_list(1), ["--json"])
            self.assertEqual(0, code, output)
            found = json.loads(output)
            self.assertEqual([host.name for host in network.hosts],
                             [each["host"] for each in found["hosts"]])
            self.assertEqual(0, found["problems"])
            for host, each in zip(network.hosts, found["hosts"]):
                self.assertEqual([host.ipv4, host.ipv6], each["addresses"])
                names = [card["name"] for card in each["facts"]["network"]["interfaces"]]
                self.assertIn(host.card, names)

    def test_a_host_that_lacks_what_is_asked_for_is_named_with_the_remedy(self):
        with Network([Host("eth0"), Host("ens5")]) as network:
            code, output = self.doctor(network, network.host_list(1),
                                       ["--network-interface", "eth0"])
            self.assertEqual(1, code, output)
            self.assertIn(network.hosts[0].name + ": Reigen", output)
            self.assertRegex(output, r"(?s)%s: Reigen \S+, 1 problem.*PROBLEM between hosts +host "
                                     r".*no interface matches eth0.*remedy: " %
                             network.hosts[1].name)

    def test_a_host_that_does_not_answer_is_a_problem_of_its_own(self):
        with Network([Host()]) as network:
            code, output = self.doctor(network, network.host_list(1) + ",rgnowhere:1", ["--json"])
            self.assertEqual(1, code)
            first, second = json.loads(output)["hosts"]
            self.assertNotEqual("problem", first["verdict"])
            self.assertEqual("problem", second["verdict"])
            self.assertIn("rgnowhere", second["findings"][0]["text"])
            self.assertIn("--reigenctl-path", second["findings"][0]["remedy"])

    def test_it_looks_while_a_job_runs_and_does_not_disturb_it(self):
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(1)],
                        job.trainer("steps.py") + ["100", "0.05"]) as running:
            running.wait_for_output(r"step 1\b")
            code, output = self.doctor(network, network.host_list(1))
            self.assertEqual(0, code, output)
            self.assert_succeeds(running)


class LocalDoctorTest(unittest.TestCase):
    def test_this_host_is_looked_at_without_rsh(self):
        done = subprocess.run(["reigenctl", "doctor", "--json", "-H", "localhost"], text=True,
                              capture_output=True, timeout=60)
        found = json.loads(done.stdout)
        self.assertEqual("localhost", found["hosts"][0]["host"])
        self.assertEqual(0 if found["problems"] == 0 else 1, done.returncode)

    def test_a_folder_that_cannot_be_written_is_a_problem(self):
        done = subprocess.run(["reigenctl", "doctor"], text=True, capture_output=True, timeout=60,
                              env=dict(os.environ, REIGEN_RUNTIME_DIR="/proc/sys"))
        self.assertEqual(1, done.returncode)
        self.assertIn("PROBLEM runtime folder", done.stdout)
        self.assertIn("REIGEN_RUNTIME_DIR", done.stdout)
