#!/usr/bin/python3
"""Tests over real RDMA (soft-RoCE) in a VM: one boot.

usage: tests/rdma_vm/suite.py [--long] [--bin DIR] [WORD]    only cases with WORD

Programs are those on PATH (reigenrun and its kin, installed) and, of this tree's build,
those under DIR (default .bazel/bin); the VM's users may not read where they lie, so they
run from copies. Prints a line for each case; a VM that cannot be started or does not
end is a failed case with the reason and the end of its console.
"""
import argparse
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(FOLDER))
# For one boot. The normal run takes four to five minutes; only a hang takes so long.
SECONDS = 1500
MOST_SECONDS = 480  # of the normal run, on a machine that has no other work
OTHERS_SHARE = 0.1  # of all processors: what others use of a machine that has other work
LONG_SECONDS = 3600
TWO_VMS_SECONDS = 420
TOO_LATE, VM_TROUBLE = 124, 125  # exit statuses of vm


def busy_seconds():
    """Of all processors since the machine's start; of this process and what it has waited for."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = (
            int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in stat.readline().split()[1:9])
    own = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (user + nice + system + irq + softirq + steal,
            sum(usage.ru_utime + usage.ru_stime for usage in own))


def too_slow(took, others):
    """A line about the time of a normal run, others having used that share of the machine; or ""."""
    if took <= MOST_SECONDS:
        return ""
    if others < OTHERS_SHARE:
        return "FAIL rdma_vm.time: took %.0f s, %d at most" % (took, MOST_SECONDS)
    return "warning: rdma_vm took %.0f s, %d at most; others used %.0f %% of the machine" % (
        took, MOST_SECONDS, 100 * others)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write_digits(path):
    import sklearn.datasets
    digits = sklearn.datasets.load_digits()
    with open(path, "w") as out:
        for pixels, digit in zip(digits.data, digits.target):
            out.write("%s %d\n" % (" ".join("%d" % pixel for pixel in pixels), digit))


def copy_programs(build, folder):
    """The installed tree, and what its hosts run of the build: (environment, programs)."""
    prefix = os.path.dirname(os.path.dirname(shutil.which("reigenrun")))
    copied = os.path.join(folder, "prefix")
    shutil.copytree(prefix, copied, symlinks=True)
    programs = os.path.join(folder, "programs")
    os.mkdir(programs)
    for name in ("tests/rdma_vm/collectives", "tests/rdma_vm/digits", "tests/rdma_vm/peer",
                 "runtime/transport/rdma/real/real_conformance",
                 "client/cuda/testing/libcuda.so.1"):
        shutil.copy(os.path.join(build, name), programs)
    for name in ("client/examples/digits_torch.py", "client/python/tests/ranks/forks.py"):
        shutil.copy(os.path.join(TREE, name), programs)
    return dict(os.environ, REIGEN_TEST_PROGRAMS=programs,
                REIGEN_TEST_LIBEXEC=copied + "/libexec/reigen",
                PATH="%s/bin:%s:/usr/sbin:/sbin" % (copied, os.environ["PATH"]),
                PYTHONPATH=copied + "/python")


def run_vm(name, seconds, options, command, environment):
    """Exit status of a command in a VM. One that could not be run is a failed case."""
    last_case, reason, console = "", "no reason given", []
    process = subprocess.Popen(
        [os.path.join(FOLDER, "vm"), "--timeout", str(seconds)] + options + ["--"] + command,
        env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        print(line, end="", flush=True)
        begun = re.match(r"begin (\S+)", line)
        trouble = re.match(r"rdma_vm: (?!console: |up after )(.*)", line)
        shown = re.match(r"rdma_vm: console: (.*)", line)
        if begun:
            last_case = ", in " + begun.group(1)
        if trouble:
            reason = trouble.group(1)
        if shown:
            console.append(shown.group(1))
    status = process.wait()
    if status in (TOO_LATE, VM_TROUBLE):
        print("FAIL %s: the VM: %s%s%s (tests/run --without-rdma-vm leaves this out)" % (
            name, reason, last_case,
            "; its console ends: " + " | ".join(console[-5:]) if console else ""), flush=True)
    return status


def two_vms(programs, environment):
    """A link between two VMs, each with one device on a virtual wire."""
    name = "rdma_vm.two_vms.a_link_between_two_machines"
    address = ["10.88.0.1", "10.88.0.2"]
    wire = str(free_port())
    status = [None, None]

    def host(i):
        status[i] = run_vm(
            name + (".host%d" % i), TWO_VMS_SECONDS,
            ["--nics", "0", "--cpus", "1", "--link", wire, "--id", str(i + 1)],
            [os.path.join(programs, "peer"), str(i), address[i], address[1 - i]], environment)

    both = [threading.Thread(target=host, args=(i,)) for i in (0, 1)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    print("PASS " + name if status == [0, 0] else "FAIL %s: exit status %s" % (name, status),
          flush=True)
    return max(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--bin", default=os.path.join(TREE, ".bazel/bin"))
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rgvm-") as folder:
        os.chmod(folder, 0o755)
        environment = copy_programs(options.bin, folder)
        environment["REIGEN_TEST_DIGITS"] = os.path.join(folder, "digits")
        if options.long:
            environment["REIGEN_TEST_LONG"] = "1"
        write_digits(environment["REIGEN_TEST_DIGITS"])
        cases = [os.path.join(TREE, "tests/runner/unittest_lines.py"),
                 os.path.join(FOLDER, "inside")] + ([options.word] if options.word else [])
        begin, (busy, own) = time.monotonic(), busy_seconds()
        status = run_vm("rdma_vm", LONG_SECONDS if options.long else SECONDS,
                        ["--nics", "3", "--mem", "3072"], cases, environment)
        took, (busy_now, own_now) = time.monotonic() - begin, busy_seconds()
        others = ((busy_now - busy) - (own_now - own)) / (took * len(os.sched_getaffinity(0)))
        print("rdma_vm: the whole took %.0f s, others used %.0f %% of the machine" % (
            took, 100 * others), flush=True)
        slow = "" if options.long else too_slow(took, others)
        if slow:
            print(slow, flush=True)
            status = max(status, 1 if slow.startswith("FAIL") else 0)
        if options.long and not options.word:
            status = max(status, two_vms(environment["REIGEN_TEST_PROGRAMS"], environment))
    return status


if __name__ == "__main__":
    sys.exit(main())
