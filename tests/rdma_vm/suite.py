#!/usr/bin/python3
"""Tests over real RDMA (soft-RoCE) in a VM: one boot.

usage: tests/rdma_vm/suite.py [--long] [--bin DIR] [WORD]    only cases with WORD

Programs are those on PATH (reigenrun and its kin, installed) and, of this tree's build,
those under DIR (default .bazel/bin); the VM's users may not read where they lie, so they
run from copies. Prints a line for each case; where the VM cannot be
started, that is a failed case with its reason.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(FOLDER))
SECONDS = 480
LONG_SECONDS = 1800
VM_TROUBLE = 125
WIRE_PORT = 47911


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
                 "runtime/transport/rdma/real/real_conformance"):
        shutil.copy(os.path.join(build, name), programs)
    return dict(os.environ, REIGEN_TEST_PROGRAMS=programs,
                PATH="%s/bin:%s:/usr/sbin:/sbin" % (copied, os.environ["PATH"]),
                PYTHONPATH=copied + "/python")


def two_vms(programs, environment):
    """A link between two VMs, each with one device on a virtual wire."""
    address = ["10.88.0.1", "10.88.0.2"]
    running = []
    for host in (0, 1):
        running.append(subprocess.Popen(
            [os.path.join(FOLDER, "vm"), "--nics", "0", "--cpus", "1", "--link", str(WIRE_PORT),
             "--id", str(host + 1), "--timeout", "240", "--",
             os.path.join(programs, "peer"), str(host), address[host],
             address[1 - host]], env=environment))
    status = [process.wait() for process in running]
    name = "rdma_vm.two_vms.a_link_between_two_machines"
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
        status = subprocess.run(
            [os.path.join(FOLDER, "vm"), "--nics", "3", "--mem", "3072", "--timeout",
             str(LONG_SECONDS if options.long else SECONDS), "--",
             os.path.join(TREE, "tests/runner/unittest_lines.py"),
             os.path.join(FOLDER, "inside")] + ([options.word] if options.word else []),
            env=environment).returncode
    if status >= VM_TROUBLE - 1:
        print("FAIL rdma_vm: the VM did not finish (status %d); tests/run --without-rdma-vm "
              "leaves this out" % status)
    if options.long and not options.word:
        status = max(status, two_vms(environment["REIGEN_TEST_PROGRAMS"], environment))
    return status


if __name__ == "__main__":
    sys.exit(main())
