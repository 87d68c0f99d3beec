#!/usr/bin/python3
"""Runs the unittest modules of a folder and prints a line for each case."""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import time
import unittest

NO_CASES = 5


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


def run_cases(folder, word, pattern):
    """An exit status: 0, 1 if something failed, NO_CASES."""
    sys.path.insert(0, folder)
    suite = unittest.TestLoader().discover(folder, pattern=pattern, top_level_dir=folder)
    result = LineResult()
    unittest.TestSuite(only(suite, word)).run(result)
    if not result.testsRun:
        return NO_CASES
    return 0 if result.wasSuccessful() else 1


def run_modules(folder, word, at_once):
    """As run_cases. The lines of modules that run at the same time are mixed."""
    modules = sorted(os.path.basename(path) for path in glob.glob(folder + "/*_test.py"))
    me = [sys.executable, os.path.abspath(__file__)]

    def run(module):
        status = subprocess.run(me + ["--module", module, folder, word]).returncode
        if status not in (0, 1, NO_CASES):
            print("FAIL %s (0 s): the module ended with %d" % (module, status), flush=True)
        return status

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        statuses = set(pool.map(run, modules))
    if word and 0 in statuses:
        statuses.discard(NO_CASES)  # it is in cases of other modules
    return max(statuses, key=abs, default=NO_CASES)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("word", nargs="?", default="", help="only cases whose id has it")
    parser.add_argument("--at-once", type=int, default=1, metavar="N",
                        help="N modules at the same time, each in a process of its own")
    parser.add_argument("--module", default="*_test.py", help="only this one")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    if options.at_once > 1:
        return run_modules(folder, options.word, options.at_once)
    return run_cases(folder, options.word, options.module)


if __name__ == "__main__":
    sys.exit(main())
