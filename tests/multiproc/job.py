"""A job of the built reigenrun, with its output and everything it leaves behind.

All processes of a job carry REIGEN_TEST_MARK in their environment: that is how they
are found, whoever adopted them.
"""
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
import uuid

FOLDER = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(FOLDER))
PYTHON = "/usr/bin/python3"
MARK = "REIGEN_TEST_MARK"
# Arguments that place three ranks.
PLACES = {"one host": ["-np", "3"], "two hosts": ["-H", "localhost:1,127.0.0.1:2"]}

# What a job that cannot go on may take to end, everywhere (ARCHITECTURE.md, limits);
# the machine may be busy with other tests.
END_SECONDS = 10
GUARD_SECONDS = 10
SLACK_SECONDS = 5


def built(path):
    """A built file, in Bazel's runfiles or in the tree's own build."""
    for root in (TREE, os.path.join(TREE, ".bazel/bin")):
        if os.path.exists(os.path.join(root, path)):
            return os.path.join(root, path)
    raise FileNotFoundError("%s is not built" % path)


def trainer(name):
    return [PYTHON, os.path.join(FOLDER, "trainers", name)]


class Process:
    """A living process, as /proc shows it."""

    def __init__(self, pid):
        self.pid = pid
        with open("/proc/%d/stat" % pid) as stream:
            self.state = stream.read().rpartition(")")[2].split()[0]
        with open("/proc/%d/cmdline" % pid, "rb") as stream:
            self.argv = stream.read().decode(errors="replace").split("\0")[:-1]
        with open("/proc/%d/environ" % pid, "rb") as stream:
            self.environment = stream.read().split(b"\0")

    @property
    def program(self):
        return os.path.basename(self.argv[0]) if self.argv else ""

    def __repr__(self):
        return "%d %s %s" % (self.pid, self.state, " ".join(self.argv)[:150])


def living():
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            process = Process(int(name))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if process.state not in "ZX":
            yield process


class Job:
    """Started by `with`; whatever is left of it on leaving is killed."""

    def __init__(self, arguments, command, environment=None, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, folder_prefix="rgjob-"):
        self.folder = tempfile.mkdtemp(prefix=folder_prefix)
        self.runtime = os.path.join(self.folder, "run")
        os.mkdir(self.runtime, 0o700)
        self.mark = uuid.uuid4().hex
        self.argv = [built("client/cli/reigenrun/reigenrun")] + arguments + command
        self.environment = dict(os.environ)
        for name in list(self.environment):
            if name.startswith(("REIGEN_", "HOROVOD_")):
                del self.environment[name]
        self.environment.update({
            MARK: self.mark, "REIGEN_RUNTIME_DIR": self.runtime, "JOB_FOLDER": self.folder,
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
        self.environment.update(environment or {})
        self.stdout, self.stderr = stdout, stderr
        self.out, self.err = bytearray(), bytearray()
        self.readers = []

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, env=self.environment, cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=self.stdout,
                                        stderr=self.stderr, start_new_session=True)
        self.begin = time.monotonic()
        for stream, data in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            if stream is not None:
                reader = threading.Thread(target=self._read, args=(stream, data))
                reader.start()
                self.readers.append(reader)
        return self

    @staticmethod
    def _read(stream, data):
        while True:
            chunk = stream.read1(65536)
            if not chunk:
                stream.close()
                return
            data.extend(chunk)

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for process in self.processes():
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for reader in self.readers:
            reader.join(10)
        if kind:
            sys.stderr.write("--- %s\n%s%s---\n" % (" ".join(self.argv), self.text()[-6000:],
                                                    self.errors()[-6000:]))
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        return self.out.decode(errors="replace")

    def errors(self):
        return self.err.decode(errors="replace")

    def seconds(self):
        return time.monotonic() - self.begin

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_for(self, pattern, times=1, timeout_seconds=30):
        """Until so many matches are in the output."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            ended = self.process.poll() is not None
            if len(re.findall(pattern, self.text() + self.errors())) >= times:
                return
            if ended or time.monotonic() > deadline:
                raise AssertionError("%r did not come %d times" % (pattern, times))
            time.sleep(0.02)

    def wait(self, timeout_seconds=60):
        """The exit code of the launcher, when all its output has been read."""
        try:
            code = self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("the job had not ended after %d s" % timeout_seconds) from None
        for reader in self.readers:
            reader.join(10)
        return code

    def processes(self):
        mark = ("%s=%s" % (MARK, self.mark)).encode()
        return [process for process in living()
                if mark in process.environment and process.pid != os.getpid()]

    def daemons(self, program, word=""):
        return [process for process in self.processes()
                if process.program == program and (not word or word in process.argv)]

    def check_nothing_left(self, test, seconds=END_SECONDS + SLACK_SECONDS):
        """Fails if a process or a runtime file outlives the job."""
        deadline = time.monotonic() + seconds
        while (self.processes() or os.listdir(self.runtime)) and time.monotonic() < deadline:
            time.sleep(0.05)
        test.assertEqual([], self.processes(), "processes are left")
        test.assertEqual([], glob.glob(self.runtime + "/*"), "files are left")
