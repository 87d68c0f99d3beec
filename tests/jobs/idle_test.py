"""C39: what waits costs nothing, and the callers' settings stay theirs."""
import os
import signal
import subprocess
import time
import unittest

import jobs

IDLE_SECONDS = 10
TICKS = os.sysconf("SC_CLK_TCK")


def group_of(leader):
    """The processes of the session's tree: all descendants of the launcher."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as stream:
                    fields = stream.read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(int(fields[1]), []).append(
                (int(name), (int(fields[11]) + int(fields[12])) / TICKS))
    found, waiting = {}, [leader]
    while waiting:
        for pid, seconds in children.get(waiting.pop(), []):
            found[pid] = seconds
            waiting.append(pid)
    return found


class C39IdleTest(jobs.JobCase):
    def test_c39_an_idle_job_uses_less_than_one_percent_of_a_core(self):
        job = subprocess.Popen(["reigenrun", "-np", "4"] + jobs.trainer("idle.py"),
                               stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            for _ in range(4):
                self.assertIn("is idle", job.stdout.readline())
            time.sleep(1)
            before = group_of(job.pid)
            begin = time.monotonic()
            time.sleep(IDLE_SECONDS)
            after = group_of(job.pid)
            seconds = time.monotonic() - begin
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=30)
        # Launcher's child, guard, worker, four trainers.
        self.assertGreaterEqual(len(after), 7)
        used = sum(after.values()) - sum(before.values())
        self.assertLess(used, 0.01 * seconds + 1.0 / TICKS)

    def test_c39_a_rank_that_waits_uses_little_and_affinity_is_the_callers(self):
        self.run_job(2, jobs.trainer("late.py"))


if __name__ == "__main__":
    unittest.main()
