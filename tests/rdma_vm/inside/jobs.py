"""Jobs of two hosts inside the VM, over its two soft-RoCE devices."""
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
# What the suite (../suite.py) says: where programs and data are.
PROGRAMS = os.environ.get("REIGEN_TEST_PROGRAMS", "")
LIBEXEC = os.environ.get("REIGEN_TEST_LIBEXEC", "")
DIGITS = os.environ.get("REIGEN_TEST_DIGITS", "")
LONG = os.environ.get("REIGEN_TEST_LONG") == "1"

# ARCHITECTURE.md, "Limits": a dead host is seen after 3 s, a lost path after about 4 s, and nothing of
# the job is left 10 s after the verdict.
VERDICT_SECONDS = 4 + 3
END_SECONDS = 10
# Exit code of a job that lost a host, a link or a worker.
HOST_LOST = 71
# What emulation on a busy machine may add to each of the product's limits, unscaled.
SLACK_SECONDS = 10


# Only a hang reaches these, also on a machine that has other work.
COMMAND_SECONDS = 120
JOB_SECONDS = 180
# REIGEN_TIMEOUT_SCALE of jobs whose limits are not what is tested.
RELAXED = 10
# What machine_scale() measures takes up to so long on an idle machine, under emulation.
IDLE_SECONDS = 3
MOST_SCALE = 4


def run(command, timeout_seconds=COMMAND_SECONDS):
    """(exit status, output) of a command."""
    done = subprocess.run(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout_seconds)
    return done.returncode, done.stdout


def check(command, timeout_seconds=COMMAND_SECONDS):
    code, output = run(command.split() if isinstance(command, str) else command, timeout_seconds)
    if code != 0:
        raise AssertionError("%s: exit %d\n%s" % (command, code, output))
    return output


def processes_with(environment):
    """Command lines of the processes that have these variables."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as stream:
                words = stream.read().split(b"\0")
            if all(("%s=%s" % pair).encode() in words for pair in environment.items()):
                with open("/proc/%s/cmdline" % pid, "rb") as stream:
                    found.append(stream.read().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


def dropped(interface):
    """Packets that its queueing discipline has thrown away."""
    return sum(int(count) for count in re.findall(r"\bdropped (\d+)",
                                                  check("tc -s qdisc show dev " + interface)))


def registrations_of_dead_processes():
    """Memory regions that the kernel still holds for RDMA once no job runs, of all devices.

    What a job gave back itself, and when, is not seen here: the kernel frees what a process
    leaves. That links and transports give all back is what FakeRdmaPair proves.
    """
    return sum(int(count) for count in re.findall(r"\bmr (\d+)", check("rdma resource show")))


class Case(unittest.TestCase):
    """A case after which the kernel holds no registration; its name is said before it begins."""

    def setUp(self):
        print("begin %s" % self.id(), flush=True)

    def tearDown(self):
        deadline = time.monotonic() + COMMAND_SECONDS
        while registrations_of_dead_processes() > 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(0, registrations_of_dead_processes())


def scale_of(seconds):
    scale = 1
    while seconds > IDLE_SECONDS * scale and scale < MOST_SCALE:
        scale *= 2
    return scale


def machine_scale():
    """For jobs whose limits are tested: 1, or more where the machine is slower, others using it too.

    Emulated, and beside other work, a worker that does its best can be silent for longer
    than the three seconds after which it counts as dead. Measured is work that is like that of a
    job's start and has nothing of it: processes that start, read modules, and compute.
    """
    begin = time.monotonic()
    for _ in range(2):
        check(["python3", "-c", "import json, unittest; sum(range(1000000))"])
    took = time.monotonic() - begin
    scale = scale_of(took)
    print("machine: %.1f s, limits are %d-fold" % (took, scale), flush=True)
    return scale


def mend():
    """What tests of faults did to rn1 and rn2."""
    run(["tc", "qdisc", "del", "dev", "rn1", "root"])
    check("ip link set rn2 up")
    # What ../guest set and the kernel forgot when the link went down.
    check("ip route replace 10.77.0.0/24 dev rn2 src 10.77.0.3 table 1002")
    check("ip route replace local 10.77.0.3 dev rn2 table 1002")
    for other in (0, 1):
        with open("/sys/class/net/rn%d/address" % other) as stream:
            check("ip neigh replace 10.77.0.%d lladdr %s dev rn2 nud permanent" % (
                other + 1, stream.read().strip()))


class Job:
    """reigenrun over anna and bert, one rank each; killed on leaving if it still runs."""

    def __init__(self, command, transport="rdma", options=(), environment=None,
                 timeout_scale=RELAXED):
        self.output_file = tempfile.NamedTemporaryFile(mode="w+", errors="replace")
        self.argv = ["reigenrun", "--rsh", os.path.join(FOLDER, "as_host") + " {host} {command}",
                     "-H", "anna:1,bert:1",
                     "--transport", transport, "--log-level", "info"] + list(options) + command
        self.environment = dict(os.environ, REIGEN_TIMEOUT_SCALE=str(timeout_scale),
                                **(environment or {}))
        self.process = None

    def __enter__(self):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(self.argv, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=self.output_file,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def __exit__(self, kind, error, trace):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if kind:
            print("--- output of %s\n%s---" % (" ".join(self.argv), self.output()), flush=True)
        self.output_file.close()

    def output(self):
        self.output_file.seek(0)
        return self.output_file.read()

    def wait_for_output(self, pattern, times=1, timeout_seconds=COMMAND_SECONDS):
        deadline = time.monotonic() + timeout_seconds
        while True:
            last = self.process.poll() is not None or time.monotonic() > deadline
            if len(re.findall(pattern, self.output())) >= times:
                return
            if last:
                raise AssertionError("%r did not come %d times" % (pattern, times))
            time.sleep(0.1)

    def wait(self, timeout_seconds=JOB_SECONDS):
        """Exit status and output."""
        try:
            code = self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("not ended after %d s" % timeout_seconds) from None
        return code, self.output()

    def succeed(self, timeout_seconds=JOB_SECONDS):
        code, output = self.wait(timeout_seconds)
        if code != 0:
            raise AssertionError("exit %d" % code)
        return output

    @staticmethod
    def worker_of(user):
        """Pid of the worker (the guard's child) of a host's user."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as stream:
                    words = stream.read().split(b"\0")
                owner = os.stat("/proc/" + pid).st_uid
            except (FileNotFoundError, ProcessLookupError):
                continue
            if owner == user and b"serve" in words[:3] and words[0].endswith(b"reigen-worker"):
                return int(pid)
        raise AssertionError("user %d has no worker" % user)


def perf(sizes, iterations, options=()):
    smallest, largest = sizes
    return ["reigen-perf", "--min", smallest, "--max", largest, "--factor", "16", "--iters",
            str(iterations), "--warmup", "1"] + list(options)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


def kill(pid):
    os.kill(pid, signal.SIGKILL)
