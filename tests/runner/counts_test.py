"""The counting of test cases."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import counts  # noqa: E402


def event_file(folder, results):
    """A build event file of {label: (status, text of test.xml or None)}."""
    path = os.path.join(folder, "events.json")
    with open(path, "w") as stream:
        for number, (label, (status, text)) in enumerate(results.items()):
            outputs = []
            if text is not None:
                xml = os.path.join(folder, "%d.xml" % number)
                with open(xml, "w") as out:
                    out.write(text)
                outputs = [{"name": "test.xml", "uri": "file://" + xml}]
            stream.write(json.dumps({
                "id": {"testResult": {"label": label}},
                "testResult": {"status": status, "testActionOutput": outputs}}) + "\n")
    return path


def suite(*cases):
    return "<testsuites><testsuite>%s</testsuite></testsuites>" % "".join(cases)


PASSED = '<testcase name="Ok" classname="A" status="run" result="completed"/>'
FAILED = '<testcase name="Bad" classname="A"><failure message="no"/></testcase>'
SKIPPED = ('<testcase name="Not" classname="A" result="skipped">'
           '<skipped message="no RDMA device"/></testcase>')


class CountsTest(unittest.TestCase):
    def count(self, results):
        with tempfile.TemporaryDirectory() as folder:
            return counts.from_build_events(event_file(folder, results))

    def test_cases_are_counted_by_their_result(self):
        found = self.count({"//a:b": ("FAILED", suite(PASSED, FAILED, SKIPPED))})
        self.assertEqual("1 passed, 1 failed, 1 skipped", str(found))
        self.assertIn("no RDMA device", found.skips[0])

    def test_a_suite_without_cases_is_a_failure(self):
        self.assertEqual(["//a:b: ran no case"],
                         self.count({"//a:b": ("PASSED", suite())}).failures)

    def test_a_target_that_timed_out_after_good_cases_is_a_failure(self):
        self.assertEqual(["//a:b: TIMEOUT"],
                         self.count({"//a:b": ("TIMEOUT", suite(PASSED))}).failures)

    def test_a_target_without_a_result_is_a_failure(self):
        self.assertEqual(1, len(self.count({"//a:b": ("FAILED_TO_BUILD", None)}).failures))

    def test_lines_are_counted(self):
        found = counts.from_lines("noise\nPASS a\nFAIL b: why\nSKIP c: no device\n")
        self.assertEqual("1 passed, 1 failed, 1 skipped", str(found))
        self.assertEqual(["b: why"], found.failures)


if __name__ == "__main__":
    unittest.main()
