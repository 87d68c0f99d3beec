"""Every rule of tidy finds a planted offence, and leaves right code alone."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

GOOD = """// A good file.
#ifndef REIGEN_WORKER_GOOD_H_
#define REIGEN_WORKER_GOOD_H_

#include "runtime/base/status.h"

// Never calls rand(), see there.
inline const char* Advice() { return "do not sleep(1)"; }

#endif  // REIGEN_WORKER_GOOD_H_
"""


def offences(rule, path, text, build='"good.h"'):
    return list(rule(tidy.File(path, text, build)))


class TidyTest(unittest.TestCase):
    def test_a_good_file_has_no_offence(self):
        found = tidy.check([tidy.File("worker/good.h", GOOD, '"good.h"')])
        self.assertEqual([], sum(found.values(), []))

    def test_every_banned_call_is_found(self):
        for line in ["strcpy(a, b);", "int n = atoi(s);", "std::thread(f).detach();",
                     "  throw 1;", "std::cout << 1;", "auto t = std::chrono::steady_clock::now();",
                     "usleep(10);", "std::this_thread::sleep_for(x);", "absl::string_view s;"]:
            self.assertEqual(1, len(offences(tidy.banned_calls, "worker/a.cc", line)), line)

    def test_a_banned_call_with_a_stated_reason_is_let_alone(self):
        line = "usleep(10);  // NOLINT: the reason"
        self.assertFalse(offences(tidy.banned_calls, "worker/a.cc", line))

    def test_words_for_unfinished_work_are_found(self):
        self.assertTrue(offences(tidy.unfinished_work, "worker/a.cc", "// TO" "DO: later"))

    def test_long_files_are_found(self):
        self.assertTrue(offences(tidy.file_length, "worker/a.cc", "\n" * 501))
        self.assertFalse(offences(tidy.file_length, "worker/a_test.cc", "\n" * 501))
        self.assertTrue(offences(tidy.file_length, "worker/a_test.cc", "\n" * 801))

    def test_long_functions_are_found_and_short_ones_are_not(self):
        body = "void F(int a) {\n%s}\n"
        self.assertTrue(offences(tidy.function_length, "worker/a.cc", body % ("  x();\n" * 70)))
        self.assertFalse(offences(tidy.function_length, "worker/a.cc", body % ("  x();\n" * 60)))
        method = "class A {\n  Status F(\n      int a) override {\n%s  }\n};\n"
        self.assertTrue(offences(tidy.function_length, "worker/a.cc", method % ("    x();\n" * 70)))

    def test_long_python_functions_are_found(self):
        text = "def f():\n" + "    x()\n" * 70
        self.assertTrue(offences(tidy.function_length, "client/a.py", text))

    def test_white_space_is_found(self):
        for text in ["a \n", "\ta\n", "a"]:
            self.assertTrue(offences(tidy.whitespace, "worker/a.cc", text), repr(text))

    def test_a_wrong_include_guard_is_found(self):
        self.assertTrue(offences(tidy.include_guard, "worker/b.h", GOOD))

    def test_a_file_without_a_target_is_found(self):
        self.assertTrue(offences(tidy.in_a_target, "worker/b.h", GOOD))

    def test_includes_against_the_layers_are_found(self):
        for path, include in [("runtime/base/a.cc", '"proto/local/local.h"'),
                              ("runtime/collective/a.cc", '"runtime/transport/tcp/tcp.h"'),
                              ("coordinator/a.cc", '"worker/core.h"'),
                              ("client/c/a.cc", '"runtime/transport/link.h"'),
                              ("runtime/transport/a.cc", "<grpcpp/grpcpp.h>")]:
            self.assertTrue(offences(tidy.layering, path, "#include %s\n" % include), path)


if __name__ == "__main__":
    unittest.main()
