"""gdr_check itself works, as far as one machine goes: over the fake driver, on the installed
tree, with two names of this machine for two hosts, whose links are TCP."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PREFIX = os.path.join(TREE, ".bazel/prefix")
FAKE = os.path.join(TREE, ".bazel/bin/client/cuda/testing")
SCRIPT = os.path.join(TREE, "tests/hardware/gdr_check")
HOSTS = ["--hosts", "localhost,127.0.0.1"]


def load_script():
    loader = importlib.machinery.SourceFileLoader("gdr_check", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gdr_check", loader))
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes_bytecode
    return module


def gdr_check(arguments):
    """(exit status, [(result, what, value)], output)"""
    done = subprocess.run([SCRIPT] + arguments, env=dict(os.environ, LD_LIBRARY_PATH=FAKE), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=480, check=False)
    table = done.stdout.split("\ngdr_check, ")[-1].splitlines()[1:]
    rows = [re.match(r"(\w+) +(.*?)  +(.*)$", line) for line in table]
    return done.returncode, [row.groups() for row in rows if row], done.stdout


class GdrCheckTest(unittest.TestCase):
    def test_mistakes_in_the_command_line_are_named(self):
        for arguments, text in (
                (HOSTS, "--prebuilt"),
                (["--prebuilt", PREFIX], "--hosts"),
                (["--prebuilt", PREFIX, "--hosts", "a"], "needs two hosts"),
                (["--prebuilt", PREFIX, "--hosts", "a:2,b:2"], "without :SLOTS"),
                (["--prebuilt", TREE + "/tests"] + HOSTS, "no bin/reigenrun"),
                (["--prebuilt", PREFIX, "--transport", "ib"] + HOSTS, "invalid choice")):
            code, _, output = gdr_check(arguments)
            self.assertEqual(code, 2, output)
            self.assertIn(text, output)

    def test_what_is_not_direct_is_refused_with_the_reason_and_measured_staged(self):
        code, rows, output = gdr_check(["--prebuilt", PREFIX, "--transport", "tcp", "--quick"] + HOSTS)
        if "no kernels were built in" in output:
            self.skipTest("built without nvcc")
        self.assertEqual(code, 1, output)
        for host in HOSTS[1].split(","):
            self.assertTrue(any(row[:2] == ("note", "doctor " + host) for row in rows), output)
        refused = [value for result, what, value in rows if (result, what) == ("FAIL", "direct")]
        self.assertEqual(len(refused), 1, output)
        self.assertIn("links over tcp take memory of the host only", refused[0])
        for size in (4, 64, 1024):
            self.assertTrue(any(row[:2] == ("pass", "staged: %d KiB" % size) for row in rows), output)
        for rank in (0, 1):
            self.assertTrue(any(row[:2] == ("note", "staged") and "gpu-direct: staged (" in row[2] and
                                "rank=%d " % rank in row[2] for row in rows), output)
        self.assertTrue(any(row[:2] == ("skip", "ib_write_bw --use_cuda") for row in rows), output)

    def test_doctor_may_chat_on_stderr_and_one_that_does_not_answer_is_a_row(self):
        script = load_script()
        script.DOCTOR_SECONDS = 30
        report = ('{"hosts": [{"host": "a", "findings": [], "verdict": "good", "transport": "rdma",'
                  ' "gpu_rdma": []}]}')
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/bin")
            for name in ("reigenrun", "reigenctl"):
                with open(folder + "/bin/" + name, "w") as program:
                    os.fchmod(program.fileno(), 0o755)
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b"])
            env = dict(os.environ, PATH=folder + "/bin:" + os.environ["PATH"])

            def rows(doctor):
                with open(folder + "/bin/reigenctl", "w") as program:
                    program.write("#!/bin/sh\n" + doctor)
                table = script.Table("gdr_check", 60)
                script.check_hosts(table, options, env)
                return [tuple(row) for row in table.rows]

            self.assertEqual(rows("echo a: welcome >&2; echo '%s'" % report),
                             [("note", "doctor a", "good; links would be rdma")])
            self.assertEqual(rows("echo a: no route >&2; exit 1"),
                             [("FAIL", "doctor", "a: no route")])
            script.DOCTOR_SECONDS = 1
            self.assertEqual(rows("exec sleep 60"), [("FAIL", "doctor", "no answer in 1 s")])

    def test_doctor_is_asked_about_the_job_that_is_measured(self):
        script = load_script()
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/bin")
            for name in ("reigenrun", "reigenctl"):
                with open(folder + "/bin/" + name, "w") as program:
                    os.fchmod(program.fileno(), 0o755)
                    program.write('#!/bin/sh\necho "$@" >> %s/%s\n' % (folder, name))
            env = dict(os.environ, PATH=folder + "/bin:" + os.environ["PATH"])
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b", "--transport",
                                              "auto", "--rdma-devices", "mlx5_9,mlx5_8"])
            table = script.Table("gdr_check", 60)
            script.check_hosts(table, options, env)
            script.run_ranks(table, options, env, "direct", "require")
            for name in ("reigenctl", "reigenrun"):
                with open(folder + "/" + name) as file:
                    self.assertIn("--transport auto --gpu-direct require --rdma-devices mlx5_9,mlx5_8",
                                  file.read())

    def test_the_rate_of_ib_write_bw_is_read_and_remote_commands_are_quoted(self):
        script = load_script()
        output = (" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                  " 8388608    29400            0.00               393.31             0.005861\n"
                  "-----\n")
        self.assertAlmostEqual(script.perftest_rate(output), 393.31 / 8)
        self.assertEqual(script.perftest_rate("Couldn't listen to port 18591\n"), 0)
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/bin")
            with open(folder + "/bin/reigenrun", "w") as program:
                os.fchmod(program.fileno(), 0o755)
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b"])
            self.assertEqual(script.on_host(options, "b", ["x", "y z"]),
                             ["ssh", "-o", "BatchMode=yes", "b", "x 'y z'"])
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b", "--rsh",
                                              "ip netns exec {host} {command}"])
            self.assertEqual(script.on_host(options, "b", ["x", "y z"]),
                             ["ip", "netns", "exec", "b", "x", "y z"])
        self.assertEqual(script.on_host(options, "localhost", ["x"]), ["x"])


if __name__ == "__main__":
    unittest.main()
