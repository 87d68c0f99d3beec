"""Goal: a fault in a fuzz target fails its test and shows the input.
Method: the canary, a target with a planted fault, must fail so."""
import re
import subprocess
import unittest

CANARY = "tests/fuzz/canary_fuzz"


class CanaryTest(unittest.TestCase):

    def test_the_planted_fault_is_found_and_its_input_shown(self):
        run = subprocess.run([CANARY], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertIn("the planted fault", run.stderr)
        shown = re.search(r"fault on input ([0-9a-f]+)", run.stderr)
        self.assertIsNotNone(shown, run.stderr)
        self.assertTrue(bytes.fromhex(shown.group(1)).startswith(b"c"))

    def test_without_reaching_the_fault_it_passes(self):
        run = subprocess.run([CANARY, "0"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("no fault", run.stdout)


if __name__ == "__main__":
    unittest.main()
