"""gpu_check itself works: over the fake driver, on the installed tree."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PREFIX = os.path.join(TREE, ".bazel/prefix")
FAKE = os.path.join(TREE, ".bazel/bin/client/cuda/testing")
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "bool"]


def load_script():
    path = os.path.join(TREE, "tests/hardware/gpu_check")
    loader = importlib.machinery.SourceFileLoader("gpu_check", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes_bytecode
    return module


def gpu_check(arguments, libraries):
    """(exit status, {what: result}, output)"""
    env = dict(os.environ, LD_LIBRARY_PATH=libraries)
    done = subprocess.run([os.path.join(TREE, "tests/hardware/gpu_check"), "--quick"] + arguments,
                          env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=480, check=False)
    table = done.stdout.split("\ngpu_check, ")[-1].splitlines()[1:]
    rows = [re.match(r"(\w+) +(.*?)(  |$)", line) for line in table]
    return done.returncode, {row.group(2): row.group(1) for row in rows if row}, done.stdout


class GpuCheckTest(unittest.TestCase):
    def check_kernels(self, rows, output):
        for dtype in DTYPES:
            self.assertEqual(rows.get("reduce " + dtype), "pass", output)
        self.assertEqual(rows.get("pack and unpack"), "pass", output)
        self.assertEqual(rows.get("pack and unpack, strided"), "pass", output)
        # What they say of a processor's speed means nothing.
        for what in ("pack 200 tensors", "unpack 200 tensors", "reduce 4 of float32"):
            self.assertIn(rows.get(what), ("pass", "below"), output)
        for what in ("commands", "packing on the GPU", "commands on host memory",
                     "memory of another process"):
            self.assertEqual(rows.get(what), "pass", output)
        self.assertIn("dma-buf export", rows)
        self.assertIn("a command of 64 KiB", rows)

    def test_all_parts_with_an_installed_prefix(self):
        code, rows, output = gpu_check(["--prebuilt", PREFIX], FAKE)
        if "no kernels were built in" in output:
            self.skipTest("built without nvcc")
        self.assertEqual(code, 0, output)
        self.check_kernels(rows, output)
        for job in ("2 ranks", "4 ranks", "2 hosts", "2 ranks, by the CPU", "2 hosts, by the CPU"):
            for what in ("every dtype and op", "a group of 300", "strided"):
                self.assertEqual(rows.get("%s: %s" % (job, what)), "pass", output)
            self.assertEqual(rows.get("%s: both together" % job), "note", output)
        for job, mode in (("2 ranks", "not needed"), ("4 ranks", "not needed"),
                          ("2 hosts", "staged")):
            self.assertRegex(output, "note +%s +rank=1 gpu=.* gpu-direct: %s" % (job, mode))
        self.assertNotRegex(output, "note +2 (ranks|hosts), by the CPU +rank=")
        for job in ("2 ranks", "2 hosts"):
            self.assertEqual(rows.get(job + ": bits as by the CPU"), "pass", output)
        self.assertIn("digits_torch.py on the GPU", rows)

    def test_the_row_of_the_torch_example_has_its_accuracy_or_what_went_wrong(self):
        script = load_script()
        said = "accuracy on 450 test samples: 97.33 % with 2 ranks, 97.11 % in one process"
        self.assertEqual(self.digits_rows(script, "no module named torch", "exit 9"),
                         [("skip", "no module named torch")])
        self.assertEqual(self.digits_rows(script, "", "echo epoch 1; echo '[0] %s'" % said),
                         [("pass", said)])
        self.assertEqual(self.digits_rows(script, "", "echo epoch 1"),
                         [("FAIL", "it says no accuracy")])
        self.assertEqual(self.digits_rows(script, "", "echo '%s'; echo 'ranks differ'; exit 1" % said),
                         [("FAIL", "exit 1: ranks differ")])
        self.assertEqual(self.digits_rows(script, "", 'echo "accuracy on 1 test samples: $*"')[0],
                         ("pass", "accuracy on 1 test samples: -np 2 %s %s --device cuda" % (
                             sys.executable, os.path.join(TREE, "client/examples/digits_torch.py"))))

    def digits_rows(self, script, no_torch, reigenrun):
        """The rows of that part with this shell script for a reigenrun."""
        script.why_no_torch = lambda: no_torch
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/reigenrun", "w") as program:
                program.write("#!/bin/sh\n" + reigenrun + "\n")
                os.fchmod(program.fileno(), 0o755)
            table = script.Table("gpu_check", 60)
            with contextlib.redirect_stdout(io.StringIO()):
                script.check_digits(table, dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
        self.assertEqual({what for _, what, _ in table.rows}, {"digits_torch.py on the GPU"})
        return [(result, value) for result, _, value in table.rows]

    def test_the_sources_of_what_checks_the_kernels_are_all_that_gxx_needs(self):
        # In one file, which takes seconds; --long builds them as gpu_check does.
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/all.cc", "w") as out:
                out.writelines('#include "%s"\n' % source for source in load_script().SOURCES)
            done = subprocess.run(["g++", "-std=c++20", "-I", TREE, "-o", folder + "/kernel_check",
                                   folder + "/all.cc", "-ldl", "-pthread"], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=480)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:])

    if os.environ.get("REIGEN_TEST_LONG"):
        def test_the_kernels_with_nvcc_and_gxx_alone(self):
            if not shutil.which("nvcc", path="/usr/local/cuda/bin:" + os.environ.get("PATH", "")):
                self.skipTest("no nvcc")
            code, rows, output = gpu_check([], FAKE)
            self.assertEqual(code, 0, output)
            self.check_kernels(rows, output)

    def test_without_a_driver_it_fails_and_says_so(self):
        if "libcuda.so.1" in subprocess.run(["/sbin/ldconfig", "-p"], text=True, check=True,
                                            stdout=subprocess.PIPE).stdout:
            self.skipTest("this machine has a driver")
        code, rows, output = gpu_check(["--prebuilt", PREFIX], "")
        self.assertEqual(code, 1, output)
        self.assertEqual(rows.get("kernels"), "FAIL", output)
        self.assertIn("no CUDA driver on this machine", output)


if __name__ == "__main__":
    unittest.main()
