"""The suite itself: what it says of a VM that gives no verdict."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest

import suite


class SuiteTest(unittest.TestCase):
    def run_vm(self, script):
        """(exit status, output) with this shell script for a VM."""
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/vm", "w") as program:
                program.write("#!/bin/sh\n" + script)
                os.fchmod(program.fileno(), 0o755)
            suite.FOLDER, before = folder, suite.FOLDER
            try:
                with contextlib.redirect_stdout(output):
                    status = suite.run_vm("rdma_vm", 60, ["--nics", "3"], ["true"], dict(os.environ))
            finally:
                suite.FOLDER = before
        return status, output.getvalue()

    def test_a_vm_that_does_not_come_up_is_a_failed_case_with_the_reason(self):
        status, output = self.run_vm("echo 'rdma_vm: no qemu-system-x86_64 here' >&2; exit 125")
        self.assertEqual(125, status)
        self.assertIn("FAIL rdma_vm: the VM: no qemu-system-x86_64 here (tests/run --without-rdma-vm "
                      "leaves this out)", output)

    def test_a_vm_that_hangs_is_blamed_on_the_case_with_the_end_of_its_console(self):
        status, output = self.run_vm(
            "echo 'rdma_vm: up after 5 s'; echo 'begin links_test.Links.test_one';"
            "echo 'PASS links_test.Links.test_one (1 s)'; echo 'begin jobs_test.Jobs.test_two';"
            "echo 'rdma_vm: not done in 60 s'; echo 'rdma_vm: console: oops'; exit 124")
        self.assertEqual(124, status)
        self.assertIn("FAIL rdma_vm: the VM: not done in 60 s, in jobs_test.Jobs.test_two; its console "
                      "ends: oops", output)

    def test_cases_of_a_vm_that_came_to_an_end_speak_for_themselves(self):
        for code in (0, 1):
            status, output = self.run_vm("echo 'PASS a (1 s)'; exit %d" % code)
            self.assertEqual(code, status)
            self.assertEqual("PASS a (1 s)\n", output)

    def test_a_run_that_takes_too_long_fails_unless_others_kept_the_machine_busy(self):
        self.assertEqual("", suite.too_slow(suite.MOST_SECONDS, 0))
        self.assertRegex(suite.too_slow(suite.MOST_SECONDS + 1, 0.01),
                         r"^FAIL rdma_vm.time: took 481 s, 480 at most")
        self.assertRegex(suite.too_slow(suite.MOST_SECONDS + 100, 0.3),
                         "^warning: rdma_vm took 580 s, 480 at most; others used 30 % of the machine")

    def test_what_others_do_meanwhile_is_seen_and_what_the_suite_does_is_not(self):
        spin = "import time; end = time.process_time() + 1\nwhile time.process_time() < end: pass"
        begin = suite.busy_seconds()
        subprocess.run([sys.executable, "-c", spin], check=True)
        mine = suite.busy_seconds()
        self.assertGreaterEqual(mine[0] - begin[0], 0.7)
        self.assertGreaterEqual(mine[1] - begin[1], 0.7)
        other = subprocess.Popen([sys.executable, "-c", spin])
        while open("/proc/%d/stat" % other.pid).read().split()[2] != "Z":  # not waited for: not ours yet
            time.sleep(0.1)
        now = suite.busy_seconds()
        self.assertGreaterEqual(now[0] - mine[0], 0.7)
        self.assertLess(now[1] - mine[1], 0.5)
        other.wait()


if __name__ == "__main__":
    unittest.main()
