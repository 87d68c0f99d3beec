"""A job of reigenrun in a Network's hub, with its output and what it leaves behind."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(FOLDER))
PYTHON = "/usr/bin/python3"
RSH = "ip netns exec {host} {command}"

# ARCHITECTURE.md, "Limits": what a job that cannot go on may take to end, everywhere.
END_SECONDS = 10
DEAD_SECONDS = 3
# Of total loss until a link is lost.
PATH_SECONDS = 4


def trainer(name):
    return [PYTHON, os.path.join(FOLDER, "trainers", name)]


class Process:
    """A process of the job, as /proc shows it."""

    def __init__(self, pid):
        self.pid = pid
        with open("/proc/%d/cmdline" % pid, "rb") as stream:
            self.argv = stream.read().decode(errors="replace").split("\0")[:-1]
        with open("/proc/%d/environ" % pid, "rb") as stream:
            pairs = [item.partition(b"=") for item in stream.read().split(b"\0")]
        self.environment = {name.decode(): value.decode(errors="replace")
                            for name, _, value in pairs}

    @property
    def program(self):
        return os.path.basename(self.argv[0]) if self.argv else ""

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)


class Job:
    """Started by `with`; killed on leaving if it still runs.

    Its runtime folder is its own, so what it leaves there is known.
    """

    def __init__(self, network, arguments, command, rsh=RSH, environment=None, space=None):
        self.network = network
        self.space = space or network.hub
        self.folder = tempfile.mkdtemp(prefix="rgjob-")
        self.runtime = os.path.join(self.folder, "run")
        os.mkdir(self.runtime, 0o700)
        rsh_words = ["--rsh", rsh] if rsh else []
        self.argv = self.space.command(["reigenrun"] + rsh_words + arguments + command)
        self.environment = dict(os.environ, REIGEN_RUNTIME_DIR=self.runtime,
                                OMP_NUM_THREADS="1", **(environment or {}))
        self.standing = set(network.pids())
        self.lines = []
        self.seen = threading.Condition()
        self.process = None
        self.begin = None

    def __enter__(self):
        self.shm_before = set(os.listdir("/dev/shm"))
        self.process = subprocess.Popen(self.argv, env=self.environment, text=True,
                                        errors="replace", stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        self.begin = time.monotonic()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 15
        while self.left_processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in self.left_processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.reader.join()
        if kind:
            sys.stderr.write("--- output of %s\n%s---\n" % (" ".join(self.argv), self.output()))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self):
        for line in self.process.stdout:
            with self.seen:
                self.lines.append(line)
                self.seen.notify_all()
        with self.seen:
            self.lines.append(None)
            self.seen.notify_all()

    def output(self):
        with self.seen:
            return "".join(line for line in self.lines if line)

    def wait_for_output(self, pattern, times=1, timeout_seconds=30):
        """Waits until so many lines match."""
        def ready():
            return (self.lines and self.lines[-1] is None) or self._matches(pattern) >= times
        with self.seen:
            self.seen.wait_for(ready, timeout_seconds)
            if self._matches(pattern) < times:
                raise AssertionError("%r did not come %d times" % (pattern, times))

    def _matches(self, pattern):
        return sum(1 for line in self.lines if line and re.search(pattern, line))

    def wait(self, timeout_seconds=60):
        """The exit code of the launcher, and all of its output."""
        try:
            code = self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("the job had not ended after %d s" % timeout_seconds) from None
        self.reader.join(5)
        return code, self.output()

    def processes(self):
        """Of all hosts, without those that were there before the job."""
        found = []
        for pid in self.left_processes():
            try:
                found.append(Process(pid))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
        return found

    def left_processes(self):
        return [pid for pid in self.network.pids() if pid not in self.standing]

    def trainers(self):
        """{rank: process}"""
        return {int(process.environment["REIGEN_RANK"]): process for process in self.processes()
                if "REIGEN_RANK" in process.environment and
                process.program.startswith("python")}

    def daemons(self, program, word=""):
        return [process for process in self.processes()
                if process.program == program and (not word or word in process.argv)]

    def check_nothing_left(self, test, timeout_seconds=END_SECONDS):
        """Fails if a process, a runtime folder or shared memory outlives the job."""
        deadline = time.monotonic() + timeout_seconds
        while self.left_processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        left = ["%d %s" % (process.pid, " ".join(process.argv)) for process in self.processes()]
        test.assertEqual([], left, "processes left")
        test.assertEqual([], glob.glob(self.runtime + "/*"), "files left")
        shm = set(os.listdir("/dev/shm")) - self.shm_before
        test.assertEqual([], [name for name in shm if "reigen" in name], "/dev/shm")
