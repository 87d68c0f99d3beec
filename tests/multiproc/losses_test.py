"""Jobs that lose a daemon: the right code, who was lost, nothing left."""
import os
import signal
import time
import unittest

import job


class LostDaemonTest(unittest.TestCase):
    """kill -9 and SIGSTOP of each daemon, on one of two hosts."""

    def lose(self, program, word, number, code, words, seen_seconds=3):
        with job.Job(["-H", "localhost:1,127.0.0.1:1"], job.trainer("family.py")) as running:
            running.wait_for("grandchild up", 2)
            begin = time.monotonic()
            os.kill(running.daemons(program, word)[0].pid, number)
            self.assertEqual(code, running.wait(30))
            self.assertLess(time.monotonic() - begin,
                            seen_seconds + job.END_SECONDS + job.SLACK_SECONDS)
            self.assertRegex(running.errors(), "reigenrun: " + words)
            self.assertNotIn("the launcher is gone", running.errors())
            running.check_nothing_left(self)

    def test_a_killed_worker(self):
        self.lose("reigen-worker", "serve", signal.SIGKILL, 71,
                  r"host \d \(.*the worker ended: signal 9")

    def test_a_stopped_worker(self):
        self.lose("reigen-worker", "serve", signal.SIGSTOP, 71, r"host \d \(.*worker")

    def test_a_killed_guard(self):
        self.lose("reigen-worker", "guard", signal.SIGKILL, 71, r"host \d \(.*guard")

    def test_a_stopped_guard(self):
        self.lose("reigen-worker", "guard", signal.SIGSTOP, 71,
                  r"host \d \(.*its guard, or the connection to it, has stopped: no sign of life for 10 s",
                  job.GUARD_SECONDS)

    def test_a_guard_that_is_stopped_for_a_second_loses_nothing(self):
        with job.Job(["-H", "localhost:1,127.0.0.1:1"],
                     ["sh", "-c", "echo before; sleep 4; echo after"]) as running:
            running.wait_for("before", 2)
            guard = running.daemons("reigen-worker", "guard")[0].pid
            os.kill(guard, signal.SIGSTOP)
            time.sleep(1)
            os.kill(guard, signal.SIGCONT)
            self.assertEqual(0, running.wait(30), running.errors())
            self.assertEqual(2, running.text().count("after"))

    def test_a_killed_coordinator(self):
        self.lose("reigen-coordinator", "", signal.SIGKILL, 72, "the coordinator was lost")

    def test_a_stopped_coordinator(self):
        self.lose("reigen-coordinator", "", signal.SIGSTOP, 72, "the coordinator has stopped")


if __name__ == "__main__":
    unittest.main(verbosity=2)
