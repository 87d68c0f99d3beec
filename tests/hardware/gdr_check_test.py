"""gdr_check itself works, as far as one machine goes: over the fake driver, on the installed
tree, with two names of this machine for two hosts, whose links are TCP."""
import os
import re
import subprocess
import tempfile
import time
import unittest

from scripts import FAKE, PREFIX, TREE, load_script, write_program

SCRIPT = os.path.join(TREE, "tests/hardware/gdr_check")
HOSTS = ["--hosts", "localhost,127.0.0.1"]


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
        script = load_script("gdr_check")
        script.DOCTOR_SECONDS = 30
        report = ('{"hosts": [{"host": "a", "findings": [], "verdict": "good", "transport": "rdma",'
                  ' "gpu_rdma": []}]}')
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/bin/reigenrun", "")
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b"])
            env = dict(os.environ, PATH=folder + "/bin:" + os.environ["PATH"])

            def rows(doctor):
                write_program(folder + "/bin/reigenctl", doctor)
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
        script = load_script("gdr_check")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("reigenrun", "reigenctl"):
                write_program(folder + "/bin/" + name, 'echo "$@" >> %s/%s' % (folder, name))
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
        script = load_script("gdr_check")
        output = (" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                  " 8388608    29400            0.00               393.31             0.005861\n"
                  "-----\n")
        self.assertAlmostEqual(script.perftest_rate(output), 393.31 / 8)
        self.assertEqual(script.perftest_rate("Couldn't listen to port 18591\n"), 0)
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/bin/reigenrun", "")
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b"])
            self.assertEqual(script.on_host(options, "b", ["x", "y z"]),
                             ["ssh", "-o", "BatchMode=yes", "b", "x 'y z'"])
            options = script.parse_arguments(["--prebuilt", folder, "--hosts", "a,b", "--rsh",
                                              "ip netns exec {host} {command}"])
            self.assertEqual(script.on_host(options, "b", ["x", "y z"]),
                             ["ip", "netns", "exec", "b", "x", "y z"])
        self.assertEqual(script.on_host(options, "localhost", ["x"]), ["x"])

    def perftest(self, ib_write_bw, seconds_left=60):
        """The rows of that part with this shell script for ib_write_bw, and the seconds it took."""
        script = load_script("gdr_check")
        script.PERFTEST_LEAST_SECONDS = 7
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/bin/reigenrun", "")
            write_program(folder + "/bin/ib_write_bw", ib_write_bw)
            options = script.parse_arguments(["--prebuilt", folder] + HOSTS)
            table = script.Table("gdr_check", seconds_left)
            path, os.environ["PATH"] = os.environ["PATH"], folder + "/bin:" + os.environ["PATH"]
            begin = time.monotonic()
            try:
                script.check_perftest(table, options, 10)
            finally:
                os.environ["PATH"] = path
        return [tuple(row) for row in table.rows], time.monotonic() - begin

    def test_ib_write_bw_is_measured_in_the_time_that_is_left(self):
        what = "ib_write_bw --use_cuda"
        rows, _ = self.perftest("[ $1 = --help ] && exec echo --use_cuda; echo ' 1 1 0.0 80.0 0.1'; "
                                'for last; do :; done; [ "$last" = localhost ] || exec sleep 600')
        self.assertEqual([("note", what, "10.00 GB/s"),
                          ("note", "best all-reduce to ib_write_bw", "1.00")], rows)
        self.assertEqual([("skip", what, "no time is left for it")], self.perftest("exit 1", 5)[0])
        rows, took = self.perftest("[ $1 = --help ] && exec echo --use_cuda; exec sleep 600", 9)
        self.assertEqual(1, len(rows))
        self.assertRegex(rows[0][2], r"^not done in \d+ s$")
        self.assertLess(took, 300)  # and not the 600 of either


if __name__ == "__main__":
    unittest.main()
