#!/usr/bin/python3
"""House rules that no compiler checks, as a test. See CONTRIBUTING.md.

usage: tests/tidy/tidy.py        prints each offence, then one line per rule

Every rule is a function: it takes a File and yields (line number, message).
"""
import ast
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

MAX_LINES = 500
MAX_TEST_LINES = 800
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 110  # clang-format breaks at 100; a word of a comment or a table may stand out

NO_FUNCTIONS = ("namespace", "class", "struct", "enum", "union", "extern", "if", "for", "while",
                "switch", "else", "do", "case")
CPP = (".cc", ".h", ".hpp", ".c")


class File:
    """One file of the tree, with what the rules ask about it."""

    def __init__(self, path, text, siblings=""):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.build_text = siblings  # of the BUILD file that owns it

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    @property
    def is_python(self):
        return self.path.endswith(".py") or self.lines[0].startswith("#!/usr/bin/python3")

    @property
    def is_test(self):
        name = os.path.basename(self.path)
        return (self.path.startswith("tests/") or re.search(r"_(test|fuzz|benchmark)\.", name) or
                re.search(r"(^|_)(test|fake|sim)_?", name) is not None)

    def code_lines(self):
        """C++ lines without comments and without the insides of string literals."""
        inside_comment = False
        for number, line in enumerate(self.lines, 1):
            if inside_comment:
                end = line.find("*/")
                if end < 0:
                    continue
                line, inside_comment = line[end + 2:], False
            line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            line = re.sub(r"/\*.*?\*/", "", line)
            start = line.find("/*")
            if start >= 0:
                line, inside_comment = line[:start], True
            yield number, line.split("//")[0]


TEST_CODE = r"tests/|.*/testing/|.*_test\.cc"

# (pattern, what to use in its place, paths where it is right). Code lines only.
BANNED = [
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok)\s*\(", "std::string, snprintf", ""),
    (r"\b(atoi|atol|atoll|atof)\s*\(", "std::from_chars, which reports errors", r"tests/"),
    (r"\b(rand|srand)\s*\(", "a seeded <random> engine, passed in", ""),
    (r"\b(system|popen)\s*\(", "a spawn without a shell", TEST_CODE),
    (r"\b(usleep|nanosleep|sleep)\s*\(|sleep_(for|until)\s*\(",
     "a wait for a named reason, with a deadline", TEST_CODE),
    (r"(steady|system|high_resolution)_clock::now|\bclock_gettime\s*\(|\bgettimeofday\s*\(",
     "Now() of runtime/base/clock.h, at the edge; time is a parameter",
     r"runtime/base/clock\.cc|tests/|.*_test\.cc|client/|.*_benchmark\.cc"),
    (r"\bstd::(cout|cerr|clog)\b", "runtime/base/log.h",
     r"client/cli/|client/examples/|tests/|.*_test\.cc"),
    (r"\bstd::endl\b", r"'\n'", ""),
    (r"#\s*include\s*<spdlog", "runtime/base/log.h", r"runtime/base/log(_library)?\.(h|cc)"),
    (r"^\s*throw\b", "Status", ""),
    (r"\bdynamic_cast\s*<", "a virtual function or an enum", ""),
    (r"^\s*using\s+namespace\s+(?!std::\w*literals)", "the names that are meant", TEST_CODE),
    (r"\.detach\s*\(\s*\)", "a thread that is joined", ""),
    (r"absl::string_view", "std::string_view (they differ in Debian's build)",
     r"runtime/base/status\.h"),
    (r"(?<![\w])assert\s*\(", "REIGEN_CHECK, which is always on", r"client/c/.*\.h|tests/"),
    (r"#\s*define\s+private\b", "a seam", ""),
    (r"#\s*pragma\s+once", "an include guard with the file's path", ""),
    (r"\bstd::regex\b", "a parser (std::regex recurses per character)", ""),
]


def banned_calls(file):
    if not file.is_cpp:
        return
    for number, line in file.code_lines():
        if re.search(r"// NOLINT: \w", file.lines[number - 1]):
            continue  # says why
        for pattern, instead, allowed in BANNED:
            if re.search(pattern, line) and not (allowed and re.match(allowed, file.path)):
                yield number, "%s: use %s" % (re.search(pattern, line).group(0).strip(), instead)


def unfinished_work(file):
    for number, line in enumerate(file.lines, 1):
        word = re.search(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b", line)
        if word:
            yield number, "%s: do it, or file it" % word.group(0)


def file_length(file):
    limit = MAX_TEST_LINES if file.is_test else MAX_LINES
    count = len(file.lines) - (1 if file.text.endswith("\n") else 0)
    if (file.is_cpp or file.is_python) and count > limit:
        yield count, "%d lines, more than %d: one concern a file" % (count, limit)


def _cpp_functions(file):
    """(first line, lines) of function bodies, by indentation: clang-format's layout."""
    opened = None
    for index, line in enumerate(file.lines):
        if opened:
            indent, start = opened
            if re.match(r"%s\}" % indent, line):
                yield start + 1, index - start + 1
                opened = None
            continue
        if not re.search(r"\).*\{$", line):
            continue
        # The head may have begun on an earlier line.
        start, open_parens = index, line.count(")") - line.count("(")
        while open_parens > 0 and start > 0:
            start -= 1
            open_parens += file.lines[start].count(")") - file.lines[start].count("(")
        head = re.match(r"(?P<indent>(?:  ){0,2})(?P<word>\w+)", file.lines[start])
        if head and head.group("word") not in NO_FUNCTIONS:
            opened = (head.group("indent"), start)


def function_length(file):
    if file.path.startswith(("tests/", "bazel/")) or file.is_test:
        return
    if file.is_cpp:
        for start, count in _cpp_functions(file):
            if count > MAX_FUNCTION_LINES:
                yield start, "function of %d lines, more than %d" % (count, MAX_FUNCTION_LINES)
    elif file.is_python:
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = node.end_lineno - node.lineno + 1
                if count > MAX_FUNCTION_LINES:
                    yield node.lineno, "function of %d lines, more than %d" % (
                        count, MAX_FUNCTION_LINES)


def whitespace(file):
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"
        if "\t" in line:
            yield number, "tab"
        if file.is_cpp and len(line) > MAX_COLUMNS and not line.endswith("\\"):
            yield number, "%d columns, more than %d" % (len(line), MAX_COLUMNS)
    if file.text and not file.text.endswith("\n"):
        yield len(file.lines), "no newline at the end"


def include_guard(file):
    if not file.path.endswith(".h") or file.path.endswith("-inl.h"):
        return  # a Highway header is included once for each target of the machine
    guard = "REIGEN_" + re.sub(r"[/.]", "_", file.path).upper() + "_"
    if file.path == "client/c/reigen.h":
        guard = "REIGEN_H_"  # public: the folder is not part of its name
    if "#ifndef %s\n#define %s\n" % (guard, guard) not in file.text:
        yield 1, "include guard is not %s" % guard


def in_a_target(file):
    """A source file that no BUILD file names is dead, or untested."""
    if not (file.is_cpp or file.path.endswith(".proto")):
        return
    if os.path.basename(file.path) not in file.build_text:
        yield 1, "not in a target of its BUILD file"


PARTS = ("proto/", "coordinator/", "worker/", "runtime/", "client/", "tests/")

# What may include what (design: the build's visibility lists say the same, but a
# dependency that somebody else brought along gets past them).
LAYERS = [
    ("runtime/base/", ["runtime/base/"]),
    ("runtime/reduce/", ["runtime/base/", "runtime/reduce/"]),
    ("runtime/transport/", ["runtime/base/", "runtime/transport/"]),
    ("runtime/collective/", ["runtime/base/", "runtime/reduce/", "runtime/collective/",
                             "runtime/transport/link.h", "runtime/transport/fake/"]),
    ("runtime/", ["runtime/"]),
    ("coordinator/", ["coordinator/", "runtime/base/", "proto/"]),
    ("worker/", ["worker/", "runtime/", "proto/"]),
    ("client/c/", ["client/c/", "client/cuda/", "proto/local/", "runtime/base/",
                   "runtime/reduce/"]),
    ("client/cuda/", ["client/c/layout.h", "client/c/reigen.h", "client/c/result.h",
                      "client/cuda/", "runtime/base/", "runtime/gpudirect/", "runtime/probe/",
                      "runtime/reduce/"]),
    ("client/cpp/", ["client/c/", "client/cpp/"]),
    ("client/examples/", ["client/c/", "client/cpp/", "client/examples/"]),
    # Looks at all that a host's daemons would use.
    ("client/cli/reigenctl/doctor/", ["client/", "runtime/"]),
    ("client/cli/", ["client/", "proto/", "runtime/base/"]),
]


def layering(file):
    if not file.is_cpp:
        return
    for prefix, allowed in LAYERS:
        if not file.path.startswith(prefix):
            continue
        for number, line in enumerate(file.lines, 1):
            match = re.match(r'#include "([^"]+)"', line)
            if match and match.group(1).startswith(PARTS) and not match.group(1).startswith(
                    tuple(allowed)):
                if not (file.is_test and match.group(1).startswith(
                        ("runtime/", "tests/", "coordinator/testing/"))):
                    yield number, "%s may not include %s" % (prefix, match.group(1))
        if prefix.startswith("runtime/"):
            for number, line in enumerate(file.lines, 1):
                if re.match(r"#include <(grpc|google/protobuf)", line):
                    yield number, "runtime sees neither gRPC nor protobuf"
        return


RULES = [banned_calls, unfinished_work, file_length, function_length, whitespace,
         include_guard, in_a_target, layering]


def tree_files():
    """The tracked files, and those that would be."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TREE,
        check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    builds = {}
    for name in sorted(set(names)):
        full = os.path.join(TREE, name)
        if not name or not os.path.isfile(full) or name == "LICENSE":
            continue
        with open(full, "rb") as stream:
            data = stream.read()
        if b"\0" in data:
            continue
        folder = os.path.dirname(name)
        while folder and not os.path.exists(os.path.join(TREE, folder, "BUILD")):
            folder = os.path.dirname(folder)
        if folder not in builds:
            with open(os.path.join(TREE, folder, "BUILD")) as stream:
                builds[folder] = stream.read()
        yield File(name, data.decode("utf-8"), builds[folder])


def check(files):
    """{rule name: [offences]}"""
    offences = {rule.__name__: [] for rule in RULES}
    for file in files:
        for rule in RULES:
            offences[rule.__name__] += [
                "%s:%d: %s" % (file.path, number, message) for number, message in rule(file)]
    return offences


def main():
    offences = check(tree_files())
    for found in offences.values():
        for offence in found:
            print(offence)
    for name, found in offences.items():
        print("%s tidy.%s" % ("FAIL" if found else "PASS", name))
    return 1 if any(offences.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
