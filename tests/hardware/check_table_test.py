"""The table of gpu_check and gdr_check: what programs said before they failed is kept."""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from check_table import FELL_BACK, Table
from scripts import TREE


class TableTest(unittest.TestCase):
    def setUp(self):
        self.table = Table("check", 60)
        self.said = io.StringIO()

    def run_script(self, script, **arguments):
        with contextlib.redirect_stdout(self.said):
            return self.table.run("part", ["sh", "-c", script], **arguments)

    def test_rows_of_a_program_that_then_hangs_are_kept_and_shown(self):
        output = self.run_script("echo 'ROW pass|kernels load|1 byte'; echo seen; sleep 600",
                                 limit_seconds=1)
        self.assertEqual("", output)
        self.assertEqual([("pass", "kernels load", "1 byte"), ("FAIL", "part", "not done in 1 s")],
                         self.table.rows)
        self.assertIn("seen", self.said.getvalue())
        self.assertEqual(1, self.table.exit_status())

    def test_what_a_program_has_started_ends_with_it_and_holds_nothing_up(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_script("sleep 600 & echo $! > %s/pid; wait" % folder, limit_seconds=1)
            with open(folder + "/pid") as stream:
                pid = stream.read().strip()
        deadline = time.monotonic() + 60
        while os.path.exists("/proc/" + pid) and time.monotonic() < deadline:
            with open("/proc/%s/stat" % pid) as stream:
                if stream.read().split()[2] == "Z":
                    break
            time.sleep(0.1)
        else:
            self.assertFalse(os.path.exists("/proc/" + pid))

    def test_nothing_is_begun_without_time_for_it(self):
        self.table.deadline = time.monotonic() - 1
        self.run_script("echo 'ROW pass|x|'")
        self.assertEqual([("FAIL", "part", "no time is left for it")], self.table.rows)

    def test_a_program_that_is_not_there_is_a_row(self):
        with contextlib.redirect_stdout(self.said):
            self.table.run("part", ["/no/such/program"])
        self.assertEqual("FAIL", self.table.rows[0][0])
        self.assertIn("/no/such/program", self.table.rows[0][2])

    def test_a_failure_is_said_once(self):
        self.run_script("echo 'ROW FAIL|x|wrong'; exit 1")
        self.assertEqual([("FAIL", "x", "wrong")], self.table.rows)
        self.run_script("echo bad; exit 3")
        self.assertEqual(("FAIL", "part", "exit 3: bad"), self.table.rows[1])

    def test_a_job_that_fell_back_fails_though_its_results_are_right(self):
        for line in ("reigen: CUDA tensors go through host memory: no handles",
                     "reigen: CUDA device 0: small and strided tensors are copied one by one, for none",
                     "reigen: cuMemHostRegister: no: the host memory that its tensors go through is "
                     "not page-locked, and copies are slower",
                     "host info: CUDA tensors of this host go through host memory from now on: why",
                     "x: CUDA tensors go through host memory and are reduced by the CPU: why"):
            self.table.rows = []
            script = "echo 'ROW pass|sums|'; echo '[0]<stderr>:%s'; echo '[0]<stderr>:%s'" % (line, line)
            self.run_script(script, forbidden=FELL_BACK)
            self.assertEqual([("pass", "sums", ""), ("FAIL", "part", line)], self.table.rows)
            self.table.rows = []
            self.run_script(script)  # one that says it is by the CPU
            self.assertEqual(0, self.table.exit_status())

    def test_why_a_job_fell_back_that_then_failed_is_a_note_beside_the_failure(self):
        line = "reigen: CUDA tensors go through host memory: no handles"
        self.run_script("echo '%s'; echo refused; exit 1" % line, forbidden=FELL_BACK)
        self.assertEqual([("note", "part", line), ("FAIL", "part", "exit 1: refused")], self.table.rows)

    def test_what_the_sdk_says_is_noted_once_for_all_ranks(self):
        self.run_script("echo '[0]<stderr>:reigen: packed by kernels';"
                        "echo '[1]<stderr>:reigen: packed by kernels'", forbidden=FELL_BACK)
        self.assertEqual([("note", "part", "reigen: packed by kernels")], self.table.rows)

    def test_a_check_that_is_told_to_end_shows_what_it_has(self):
        script = textwrap.dedent("""
            import sys
            sys.path.insert(0, %r)
            from check_table import Table, show_when_told_to_end
            table = Table("check", 60)
            show_when_told_to_end(table)
            table.add("pass", "first", "done")
            try:
                table.run("second", ["sh", "-c", "echo begun; sleep 600"])
            finally:
                table.show()
            """) % os.path.join(TREE, "tests/hardware")
        process = subprocess.Popen([sys.executable, "-c", script], text=True, stdout=subprocess.PIPE)
        process.stdout.readline()  # the command
        self.assertEqual("begun\n", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(1, process.returncode)
        self.assertRegex(output, r"pass +first +done\nFAIL +check +ended by signal 15")


if __name__ == "__main__":
    unittest.main()
