"""What takes its time: tensors of more than 2^31 elements (C34), many forks (C48)."""

import unittest

from rank_scripts import ONE_HOST, TWO_HOSTS, run_script


class LargeTest(unittest.TestCase):
    def test_c34_more_than_2_to_the_31_elements(self):
        run_script(self, ONE_HOST, "large.py", limit_seconds=800)


class ForksTest(unittest.TestCase):
    def test_c48_fifty_rounds_of_forked_children(self):
        run_script(self, TWO_HOSTS, "forks.py", "50", limit_seconds=800)


if __name__ == "__main__":
    unittest.main()
