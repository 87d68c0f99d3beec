"""A folder's cases each print a line, and what failed or was not there shows in the status."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unittest_lines.py")
GOOD = "import unittest\nclass Good(unittest.TestCase):\n    def test_it(self): pass\n"
BAD = "import unittest\nclass Bad(unittest.TestCase):\n    def test_it(self): self.fail('no')\n"
DEAD = "import os\nos.kill(os.getpid(), 9)\n"


class UnittestLinesTest(unittest.TestCase):
    def run_in(self, modules, options, words=()):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in modules.items():
                with open(os.path.join(folder, name), "w") as module:
                    module.write(text)
            return subprocess.run([sys.executable, PROGRAM] + options + [folder] + list(words),
                                  capture_output=True, text=True, timeout=60)

    def check(self, modules, words, status, *lines):
        """Case by case and two modules at once."""
        for options in ([], ["--at-once", "2"]):
            done = self.run_in(modules, options, words)
            self.assertEqual(status, done.returncode, done.stdout + done.stderr)
            for line in lines:
                self.assertIn(line, done.stdout)
            self.assertEqual(len(lines), done.stdout.count(" s)"), done.stdout)

    def test_each_case_has_a_line(self):
        self.check({"a_test.py": GOOD, "b_test.py": GOOD}, [], 0,
                   "PASS a_test.Good.test_it", "PASS b_test.Good.test_it")

    def test_one_failure_is_the_status(self):
        self.check({"a_test.py": GOOD, "b_test.py": BAD}, [], 1,
                   "PASS a_test.Good.test_it", "FAIL b_test.Bad.test_it")

    def test_a_word_chooses(self):
        self.check({"a_test.py": GOOD, "b_test.py": BAD}, ["Good"], 0, "PASS a_test.Good.test_it")

    def test_a_word_that_is_nowhere_fails(self):
        self.check({"a_test.py": GOOD}, ["nowhere"], 5)

    def test_no_module_fails(self):
        self.check({}, [], 5)

    def test_a_module_that_dies_fails(self):
        for others in ({}, {"b_test.py": BAD}):
            with self.subTest(others=len(others)):
                done = self.run_in(dict(others, **{"a_test.py": DEAD}), ["--at-once", "2"])
                self.assertNotEqual(0, done.returncode)
                self.assertIn("FAIL a_test.py (0 s): the module ended with -9", done.stdout)


if __name__ == "__main__":
    unittest.main()
