"""The examples run and reach what they claim. Run by tests/run on the installed tree."""
import gzip
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(TREE, "client/examples")
PREFIX = os.path.join(TREE, ".bazel/prefix")
PYTHON = "/usr/bin/python3"
DIGITS_CSV = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"


class ExampleCase(unittest.TestCase):
    def run_job(self, ranks, command, timeout_seconds=120):
        done = subprocess.run(["reigenrun", "-np", str(ranks)] + command, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout_seconds)
        self.assertEqual(0, done.returncode, done.stdout)
        return done.stdout


class DigitsTorchTest(ExampleCase):
    COMMAND = [PYTHON, os.path.join(EXAMPLES, "digits_torch.py")]

    def run_digits(self, ranks):
        output = self.run_job(ranks, self.COMMAND)
        same = re.search(r"parameters of all (\d+) ranks are identical: sha256 (\w{64})", output)
        self.assertIsNotNone(same, output)
        self.assertEqual(ranks, int(same.group(1)))
        reached = re.search(r"accuracy on (\d+) test samples: ([\d.]+) % with \d+ ranks, "
                            r"([\d.]+) % in one process", output)
        self.assertGreaterEqual(int(reached.group(1)), 800)
        self.assertLessEqual(abs(float(reached.group(2)) - float(reached.group(3))), 0.5)
        self.assertGreater(float(reached.group(2)), 94)
        self.assertRegex(output, r"epoch 20: loss [\d.]+, accuracy [\d.]+ %, \d+ images/s")
        return same.group(2)

    def test_four_ranks_match_one_process_in_less_than_a_minute(self):
        begin = time.monotonic()
        self.run_digits(4)
        self.assertLess(time.monotonic() - begin, 60)

    def test_two_runs_end_with_the_same_bits(self):
        self.assertEqual(self.run_digits(4), self.run_digits(4))

    def test_shares_that_differ_by_one_sample(self):
        self.run_digits(3)


class NumpyLinearTest(ExampleCase):
    def test_three_ranks_reach_the_closed_solution(self):
        output = self.run_job(3, [PYTHON, os.path.join(EXAMPLES, "numpy_linear.py")])
        self.assertIn("with 3 ranks", output)


class DigitsCppTest(ExampleCase):
    def test_a_program_without_python_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            program, data = folder + "/digits_cpp", folder + "/digits.csv"
            shutil.copy(EXAMPLES + "/digits_cpp.cc", folder)
            with open(EXAMPLES + "/digits_cpp.cc") as source:
                line = re.search(r"^// +(g\+\+ .*)$", source.read(), re.MULTILINE).group(1)
            subprocess.run(line + " -Wall -Wextra -Werror", shell=True, check=True, cwd=folder,
                           env=dict(os.environ, PREFIX=PREFIX))
            with gzip.open(DIGITS_CSV) as source, open(data, "wb") as out:
                shutil.copyfileobj(source, out)
            output = self.run_job(4, [program, data])
        self.assertIn("parameters of all 4 ranks are identical", output)
        accuracy = float(re.search(r"accuracy on \d+ test samples: ([\d.]+) %", output).group(1))
        self.assertGreater(accuracy, 90)


if __name__ == "__main__":
    unittest.main()
