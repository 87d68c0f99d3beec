"""Two hosts of two ranks: whatever is lost, everything ends in time, with a reason."""
import os
import re
import signal
import subprocess
import time
import unittest

import job
from cases import NetworkCase
from network import Host, Network

# What a busy machine may add to the product's limits.
SLACK_SECONDS = 10
STEPS = job.trainer("steps.py") + ["100000", "0.02"]


class FaultCase(NetworkCase):
    """A job of 2 x 2 ranks that would run for half an hour, disturbed."""

    def run_disturbed(self, disturb, command=None, up=r"step 5\b", up_lines=1):
        """Returns (code, output, seconds from the disturbance to the launcher's end)."""
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(2)], command or STEPS) as running:
            running.wait_for_output(up, up_lines)
            disturb(network, running)
            begin = time.monotonic()
            code, output = running.wait(job.DEAD_SECONDS + job.END_SECONDS +
                                        SLACK_SECONDS)
            seconds = time.monotonic() - begin
            running.check_nothing_left(self)
            self.assertLess(seconds, job.DEAD_SECONDS + job.END_SECONDS + SLACK_SECONDS)
            return code, output

    def kill_daemon(self, program, word="", number=signal.SIGKILL, index=-1):
        def disturb(_, running):
            found = running.daemons(program, word)
            self.assertTrue(found, "no %s %s" % (program, word))
            found[index].kill(number)
        return disturb

    def host_of(self, network, process):
        for host in network.hosts:
            if process.pid in host.pids():
                return host.name
        raise AssertionError("%d is on no host" % process.pid)


class KillTest(FaultCase):
    def test_a_killed_trainer_ends_the_job_with_its_rank_and_signal(self):
        code, output = self.run_disturbed(lambda _, running: running.trainers()[3].kill())
        self.assertEqual(128 + signal.SIGKILL, code, output)
        self.assertRegex(output, r"rank 3\b.*signal 9")

    def test_a_killed_worker_ends_the_job_with_its_host(self):
        lost = []

        def disturb(network, running):
            worker = running.daemons("reigen-worker", "serve")[0]
            lost.append(self.host_of(network, worker))
            worker.kill()
        code, output = self.run_disturbed(disturb)
        self.assertEqual(71, code, output)
        self.assertIn(lost[0], output)

    def test_a_killed_guard_ends_the_job_with_its_host(self):
        code, output = self.run_disturbed(self.kill_daemon("reigen-worker", "guard"))
        self.assertEqual(71, code, output)

    def test_a_stopped_worker_ends_the_job_with_its_host(self):
        lost = []

        def disturb(network, running):
            worker = running.daemons("reigen-worker", "serve")[0]
            lost.append(self.host_of(network, worker))
            worker.kill(signal.SIGSTOP)
        code, output = self.run_disturbed(disturb)
        self.assertEqual(71, code, output)
        self.assertIn(lost[0], output)

    def test_a_killed_coordinator_ends_the_job(self):
        code, output = self.run_disturbed(self.kill_daemon("reigen-coordinator"))
        self.assertEqual(72, code, output)
        self.assertIn("coordinator", output)

    def test_a_host_that_goes_silent_ends_the_job_with_its_name(self):
        names = []

        def disturb(network, _):
            host = network.hosts[1]
            names.append(host.name)
            subprocess.run(["ip", "-n", host.name, "link", "set", host.card, "down"], check=True)
        code, output = self.run_disturbed(disturb)
        self.assertEqual(71, code, output)
        self.assertIn(names[0], output)


class C46LinkGoesDownTest(FaultCase):
    """Between two hosts the packets of links are dropped, those to the coordinator are not."""

    SCALE = 2  # of limits: trainers raise and leave in one second of grace, on a busy machine

    def lose_links(self, network):
        """The port that they all lead to."""
        ports = {port for address, port, _ in network.hosts[1].listeners()
                 if address == network.hosts[1].ipv4}
        self.assertEqual(1, len(ports), "listeners of the worker")
        for host in network.hosts:
            host.lose(*ports)
        return ports.pop()

    def test_c46_a_lost_path_is_raised_by_all_ranks_with_both_ends_and_the_next_job_works(self):
        with Network([Host(), Host()]) as network:
            with job.Job(network, ["-H", network.host_list(1)], job.trainer("lost_path.py"),
                         environment={"REIGEN_TIMEOUT_SCALE": str(self.SCALE)}) as running:
                running.wait_for_output(r"step 2\b")
                port = self.lose_links(network)
                begin = time.monotonic()
                running.wait_for_output(r"rank \d raised: ", 2)
                told = time.monotonic() - begin
                code, output = running.wait(self.SCALE * job.END_SECONDS + SLACK_SECONDS)
                ended = time.monotonic() - begin - told
                running.check_nothing_left(self)
            print("told after %.1f s, ended after %.1f s" % (told, ended))
            self.assertLess(told, self.SCALE * (job.PATH_SECONDS + job.DEAD_SECONDS) +
                            SLACK_SECONDS)
            self.assertLess(ended, self.SCALE * job.END_SECONDS + SLACK_SECONDS)
            self.assertEqual(71, code, output)
            self.check_words(network, port, output)
            for host in network.hosts:
                host.lose_nothing()
            with job.Job(network, ["-H", network.host_list(1)],
                         job.trainer("steps.py") + ["3"]) as running:
                self.assert_succeeds(running)

    def check_words(self, network, port, output):
        """Who lost whom, by which addresses and ports, and what ran out."""
        names = [host.name for host in network.hosts]
        end = r"(%s) \((%s):(\d+)\)" % ("|".join(names), "|".join(
            re.escape(host.ipv4) for host in network.hosts))
        words = (r"host \d \((%s)\) lost its link to host \d \((%s)\): " % (
            "|".join(names), "|".join(names)) + end + " -> " + end +
            r", socket \d \(tcp\): .*no sign of life for %d s" % (self.SCALE * job.PATH_SECONDS))
        for speaker in ("reigenrun", r"rank 0 raised: .*", r"rank 1 raised: .*"):
            found = re.search(speaker + ":? ?" + words, output)
            self.assertIsNotNone(found, output)
            loser, lost, *ends = found.groups()
            self.assertEqual({loser, lost}, set(names))
            self.assertEqual([loser, lost], [ends[0], ends[3]])
            self.assertIn(str(port), (ends[2], ends[5]))
        for rank in (0, 1):
            left = re.search(r"rank %d left in ([\d.]+) s" % rank, output)
            self.assertIsNotNone(left, output)
            self.assertLess(float(left.group(1)), job.END_SECONDS)

    def test_two_seconds_of_loss_are_survived(self):
        with Network([Host(), Host()]) as network, \
                job.Job(network, ["-H", network.host_list(1)], job.trainer("steps.py") +
                        ["100", "0.02"]) as running:
            running.wait_for_output(r"step 5\b")
            self.lose_links(network)
            time.sleep(1)
            steps = len(re.findall("step ", running.output()))
            time.sleep(1)
            self.assertIsNone(running.process.poll(), "the job ended before the loss")
            self.assertEqual(steps, len(re.findall("step ", running.output())), "nothing was lost")
            for host in network.hosts:
                host.lose_nothing()
            self.assert_succeeds(running)


class C02OneRankDiesTheOthersIdleOnTest(FaultCase):
    def test_c02_one_rank_raises_while_the_others_sleep(self):
        code, output = self.run_disturbed(lambda *_: None, job.trainer("one_raises.py"),
                                          r"rank \d is up", 4)
        self.assertEqual(1, code, output)
        self.assertRegex(output, r"rank 2\b")
        self.assertIn("out of luck", output)


class C27ProcessesLeftTest(FaultCase):
    """Trainers with grandchildren, one of which ignores SIGTERM."""

    def end_launcher(self, number):
        def disturb(_, running):
            launchers = running.daemons("reigenrun")
            self.assertEqual(1, len(launchers))
            launchers[0].kill(number)
        return self.run_disturbed(disturb, job.trainer("tree.py"), r"rank \d is up", 4)

    def test_c27_nothing_is_left_after_ctrl_c(self):
        code, _ = self.end_launcher(signal.SIGINT)
        self.assertEqual(128 + signal.SIGINT, code)

    def test_c27_nothing_is_left_after_sigterm(self):
        code, _ = self.end_launcher(signal.SIGTERM)
        self.assertEqual(128 + signal.SIGTERM, code)

    def test_c27_nothing_is_left_after_sighup(self):
        code, _ = self.end_launcher(signal.SIGHUP)
        self.assertEqual(128 + signal.SIGHUP, code)

    def test_c27_nothing_is_left_after_the_launcher_was_killed(self):
        self.end_launcher(signal.SIGKILL)

    if os.environ.get("REIGEN_TEST_LONG"):
        def test_c27_twenty_moments_of_the_launchers_death(self):
            for number in range(20):
                with Network([Host(), Host()]) as network, \
                        job.Job(network, ["-H", network.host_list(2)],
                                job.trainer("tree.py")) as running:
                    time.sleep(0.1 * number)
                    running.process.kill()
                    running.check_nothing_left(self)


if __name__ == "__main__":
    unittest.main()
