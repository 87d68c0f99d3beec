"""Two hosts of two ranks: whatever is lost, everything ends in time, with a reason."""
import os
import signal
import subprocess
import time
import unittest

import job
from cases import NetworkCase
from network import Host, Network

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
            code, output = running.wait(job.DEAD_SECONDS + job.END_SECONDS + 5)
            seconds = time.monotonic() - begin
            running.check_nothing_left(self)
            self.assertLess(seconds, job.DEAD_SECONDS + job.END_SECONDS)
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
