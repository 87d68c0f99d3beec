"""C39: what waits costs nothing, and the callers' settings stay theirs."""
import os
import re
import signal
import subprocess
import time
import unittest

import jobs

WINDOW_SECONDS = 5
WINDOWS = 4
# Heartbeats of worker and guard, taken by the coordinator, through gRPC's threads.
WAKEUPS_PER_SECOND = 40
# Two threads; one sends a few bytes to the other over loopback, at a heartbeat's pace.
REFERENCE = """
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
taken, _ = listener.accept()
def take():
    while taken.recv(64): pass
threading.Thread(target=take, daemon=True).start()
while True:
    time.sleep(0.2)
    sender.sendall(bytes(24))
"""


def read(path):
    with open(path) as stream:
        return stream.read()


class Use:
    """Seconds of CPU, to the nanosecond and not in ticks, and wakeups, of processes."""

    def __init__(self, pids):
        self.seconds, self.wakeups = 0.0, 0
        for pid in pids:
            for task in os.listdir("/proc/%d/task" % pid):
                folder = "/proc/%d/task/%s/" % (pid, task)
                self.seconds += int(read(folder + "schedstat").split()[0]) / 1e9
                self.wakeups += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                                              read(folder + "status"), re.M).group(1))

    def since(self, before):
        self.seconds -= before.seconds
        self.wakeups -= before.wakeups
        return self


class C39IdleTest(jobs.JobCase):
    def idle_use(self, job):
        """Of a job and of a process that does nothing but beat."""
        reference = subprocess.Popen([jobs.PYTHON, "-c", REFERENCE])
        try:
            time.sleep(0.5)
            members = [job.pid] + jobs.descendants(job.pid)
            # The launcher, its coordinator, guard, worker, four trainers.
            self.assertGreaterEqual(len(members), 8)
            job_before, reference_before = Use(members), Use([reference.pid])
            begin = time.monotonic()
            time.sleep(WINDOW_SECONDS)
            job_use = Use(members).since(job_before)
            reference_use = Use([reference.pid]).since(reference_before)
            return job_use, reference_use, time.monotonic() - begin
        finally:
            reference.kill()
            reference.wait()

    def test_c39_an_idle_job_uses_less_than_one_percent_of_a_core(self):
        """Or, where waking is dear (a virtual machine), twice what so many wakeups cost there."""
        job = subprocess.Popen(["reigenrun", "-np", "4"] + jobs.trainer("idle.py"),
                               stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            for _ in range(4):
                self.assertIn("is idle", job.stdout.readline())
            time.sleep(1)
            seen = []
            for _ in range(WINDOWS):
                used, reference, seconds = self.idle_use(job)
                self.assertGreater(used.wakeups, 0)
                self.assertLess(used.wakeups, WAKEUPS_PER_SECOND * seconds)
                wakeup = reference.seconds / reference.wakeups
                limit = max(0.01 * seconds, 2 * wakeup * used.wakeups)
                seen.append("%.1f ms of CPU, %d wakeups, in %.1f s; limit %.1f ms, %.3f ms each" % (
                    used.seconds * 1e3, used.wakeups, seconds, limit * 1e3, wakeup * 1e3))
                print(seen[-1])
                if used.seconds < limit:
                    return
            self.fail("\n".join(seen))
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=30)

    def test_c39_a_rank_that_waits_uses_little_and_affinity_is_the_callers(self):
        self.run_job(2, jobs.trainer("late.py"))


if __name__ == "__main__":
    unittest.main()
