#!/usr/bin/python3
"""Runs the unittest modules of a folder and prints a line for each case.

usage: tests/runner/unittest_lines.py FOLDER [WORD]    only cases whose id has WORD
"""
import os
import sys
import time
import unittest


class LineResult(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.begin = time.monotonic()

    def _say(self, word, test, reason=""):
        seconds = time.monotonic() - getattr(self, "begin", time.monotonic())
        if reason:
            reason = ": " + reason
        print("%s %s (%.1f s)%s" % (word, test.id(), seconds, reason), flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say("PASS", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say("SKIP", test, reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._fail(subtest, err)

    def _fail(self, test, err):
        print(self._exc_info_to_string(err, test))
        self._say("FAIL", test, " ".join(str(err[1]).split())[:300])


def only(suite, word):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from only(item, word)
        elif word in item.id():
            yield item


def main():
    folder = os.path.abspath(sys.argv[1])
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    sys.path.insert(0, folder)
    suite = unittest.TestLoader().discover(folder, pattern="*_test.py", top_level_dir=folder)
    result = LineResult()
    unittest.TestSuite(only(suite, word)).run(result)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
