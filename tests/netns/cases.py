"""What all tests in namespaces have in common."""
import unittest

import network

_missing = network.missing()


class NetworkCase(unittest.TestCase):
    """Skipped, with the reason, where namespaces cannot be made."""

    def setUp(self):
        if _missing:
            self.skipTest(_missing)

    def assert_succeeds(self, job, timeout_seconds=60):
        code, output = job.wait(timeout_seconds)
        self.assertEqual(0, code, output[-2000:])
        job.check_nothing_left(self)
        return output
