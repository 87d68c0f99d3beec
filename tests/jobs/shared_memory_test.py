"""/dev/shm is not used, and nothing is left behind."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import jobs

PERF = ["reigen-perf", "--check", "--min", "32MiB", "--max", "32MiB", "--iters", "1"]


class C50SmallShmTest(jobs.JobCase):
    def test_c50_a_small_dev_shm_does_not_matter(self):
        if os.geteuid() != 0:
            self.skipTest("root is needed to mount a small /dev/shm")
        mount = 'mount -t tmpfs -o size=256k none /dev/shm && exec "$@"'
        output = self.run_job(2, PERF, wrapper=["unshare", "--mount", "--propagation", "private",
                                                "sh", "-c", mount, "sh"])
        self.assertIn("wrong elements on all ranks: 0", output)


class C51LeftoversTest(jobs.JobCase):
    ROUNDS = 20 if jobs.LONG else 3

    def test_c51_killed_jobs_leave_nothing_after_the_next_start(self):
        runtime = tempfile.mkdtemp(prefix="rgrun-")
        self.addCleanup(shutil.rmtree, runtime, True)
        environment = dict(os.environ, REIGEN_RUNTIME_DIR=runtime)
        shm = set(os.listdir("/dev/shm"))
        for number in range(self.ROUNDS):
            job = subprocess.Popen(["reigenrun", "-np", "4"] + jobs.trainer("idle.py"),
                                   env=environment, text=True, stdout=subprocess.PIPE)
            job.stdout.readline()
            self.kill_all(job.pid)
            job.communicate()
        subprocess.run(["reigenrun", "-np", "1", "/bin/true"], env=environment, check=True,
                       timeout=60)
        self.assertEqual([], os.listdir(runtime))
        self.assertEqual([], [name for name in set(os.listdir("/dev/shm")) - shm
                              if "reigen" in name])

    def test_c51_a_living_job_is_left_alone(self):
        runtime = tempfile.mkdtemp(prefix="rgrun-")
        self.addCleanup(shutil.rmtree, runtime, True)
        environment = dict(os.environ, REIGEN_RUNTIME_DIR=runtime)
        job = subprocess.Popen(["reigenrun", "-np", "2"] + jobs.trainer("idle.py"),
                               env=environment, text=True, stdout=subprocess.PIPE)
        try:
            job.stdout.readline()
            before = sorted(os.listdir(runtime))
            self.assertTrue(before)
            for name in before:
                self.assertEqual(0o700, os.stat(os.path.join(runtime, name)).st_mode & 0o777)
            subprocess.run(["reigenrun", "-np", "1", "/bin/true"], env=environment, check=True,
                           timeout=60)
            self.assertEqual(before, sorted(os.listdir(runtime)))
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=30)

    def test_c51_what_belongs_to_others_is_in_nobodys_way(self):
        if os.geteuid() != 0:
            self.skipTest("root is needed to make another user's files")
        runtime = tempfile.mkdtemp(prefix="rgrun-")
        self.addCleanup(shutil.rmtree, runtime, True)
        folder = os.path.join(runtime, "reigen-0-0123456789ab-h0")
        os.mkdir(folder, 0o700)
        open(os.path.join(folder, "lock"), "w").close()
        plain = os.path.join(runtime, "reigen-0-0123456789ab-c")
        open(plain, "w").close()
        for path in (folder, os.path.join(folder, "lock"), plain):
            os.chown(path, 65534, 65534)
        subprocess.run(["reigenrun", "-np", "1", "/bin/true"], check=True, timeout=60,
                       env=dict(os.environ, REIGEN_RUNTIME_DIR=runtime))
        self.assertEqual(["reigen-0-0123456789ab-c", "reigen-0-0123456789ab-h0"],
                         sorted(os.listdir(runtime)))

    def kill_all(self, leader):
        """SIGKILL to the launcher and all that descends from it, at once."""
        deadline = time.monotonic() + 10
        pids = jobs.descendants(leader)
        for pid in [leader] + pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while any(os.path.exists("/proc/%d" % pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
