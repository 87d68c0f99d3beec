"""gpu_check itself works: over the fake driver, on the installed tree."""
import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from scripts import FAKE, PREFIX, TREE, load_script, write_program

CHECK = "tests/hardware/gpu_check"
# What goes to a machine with a GPU, together with the tree, is 64 MiB at most.
MOST_PACKED_BYTES = 40 << 20
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "bool"]


def gpu_check(arguments, libraries, tree=TREE):
    """(exit status, {what: result}, output)"""
    env = dict(os.environ, LD_LIBRARY_PATH=libraries)
    done = subprocess.run([sys.executable, os.path.join(tree, CHECK), "--quick"] + arguments,
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

    def test_all_parts_with_what_pack_makes_of_an_installed_prefix(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = folder + "/check.tar.gz"
            subprocess.run([os.path.join(TREE, "tests/hardware/pack"), archive, "--prebuilt", PREFIX],
                           check=True, stdout=subprocess.DEVNULL)
            self.assertLess(os.path.getsize(archive), MOST_PACKED_BYTES)
            subprocess.run(["tar", "xzf", archive, "-C", folder], check=True)
            self.assertTrue(os.path.exists(
                folder + "/reigen/prefix/libexec/reigen/lib/libibverbs.so.1"))
            code, rows, output = gpu_check(["--prebuilt", folder + "/reigen/prefix"], FAKE,
                                           folder + "/reigen")
        if "no kernels were built in" in output:
            self.skipTest("built without nvcc")
        self.assertEqual(code, 0, output)
        self.check_kernels(rows, output)
        for job in ("2 ranks", "4 ranks", "2 hosts", "2 ranks, by the CPU", "2 hosts, by the CPU"):
            for what in ("every dtype and op", "a group of 300", "strided", "order with streams"):
                self.assertEqual(rows.get("%s: %s" % (job, what)), "pass", output)
            self.assertEqual(rows.get("%s: both together" % job), "note", output)
        for job, mode in (("2 ranks", "not needed"), ("4 ranks", "not needed"),
                          ("2 hosts", "staged")):
            self.assertRegex(output, "note +%s +rank=1 gpu=.* gpu-direct: %s" % (job, mode))
        self.assertNotRegex(output, "note +2 (ranks|hosts), by the CPU +rank=")
        for job in ("2 ranks", "2 hosts"):
            self.assertEqual(rows.get(job + ": bits as by the CPU"), "pass", output)
        self.assertIn("torch on the GPU", rows)

    def test_the_row_of_the_torch_example_has_its_accuracy_or_what_went_wrong(self):
        script = load_script("gpu_check")
        said = "accuracy on 450 test samples: 97.33 % with 2 ranks, 97.11 % in one process"
        self.assertEqual(self.digits_rows(script, "echo epoch 1; echo '[0] %s'" % said),
                         [("pass", said)])
        self.assertEqual(self.digits_rows(script, "echo epoch 1"),
                         [("FAIL", "it says no accuracy")])
        self.assertEqual(self.digits_rows(script, "echo '%s'; echo 'ranks differ'; exit 1" % said),
                         [("FAIL", "exit 1: ranks differ")])
        self.assertEqual(self.digits_rows(script, 'echo "accuracy on 1 test samples: $*"')[0],
                         ("pass", "accuracy on 1 test samples: -np 2 %s %s --device cuda" % (
                             sys.executable, os.path.join(TREE, "client/examples/digits_torch.py"))))

    def digits_rows(self, script, reigenrun):
        """The rows of that part with this shell script for a reigenrun."""
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/reigenrun", reigenrun)
            table = script.Table("gpu_check", 60)
            with contextlib.redirect_stdout(io.StringIO()):
                script.check_digits(table, dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
        self.assertEqual({what for _, what, _ in table.rows}, {"digits_torch.py on the GPU"})
        return [(result, value) for result, _, value in table.rows]

    def test_torch_is_asked_for_with_both_its_scripts_or_the_reason_is_said(self):
        script = load_script("gpu_check")
        order, python = ("note", "job", "torch_order.py"), "(%s)" % sys.executable
        for reasons, rows in (
                (("no torch",) * 2, [("skip", "torch on the GPU", "no torch " + python)]),
                (("", "no sklearn"), [order, ("skip", "digits_torch.py on the GPU", "no sklearn " + python)]),
                (("", ""), [order, ("note", "job", "digits_torch.py"),
                            ("FAIL", "digits_torch.py on the GPU", "it says no accuracy")])):
            script.why_no_torch = lambda seconds, reasons=reasons: reasons
            with tempfile.TemporaryDirectory() as folder:
                write_program(folder + "/reigenrun", 'echo "ROW note|job|$(basename $4)"')
                table = script.Table("gpu_check", 60)
                with contextlib.redirect_stdout(io.StringIO()):
                    script.check_torch(table, dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
            self.assertEqual(rows, [tuple(row) for row in table.rows])

    def test_the_script_for_torchs_streams_works_as_far_as_it_can_without_them(self):
        script = os.path.join(TREE, "tests/hardware/torch_order.py")
        done = subprocess.run(["reigenrun", "-np", "2", "/usr/bin/python3", script, "--device", "cpu"],
                              env=load_script("gpu_check").job_environment(PREFIX), text=True, timeout=300,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual(8, len(re.findall("ROW pass.torch: ", done.stdout)), done.stdout)

    def test_accesses_of_kernels_are_checked_where_the_tool_is_without_rows_of_their_own(self):
        script = load_script("gpu_check")
        script.find_nvcc = lambda: "/cuda/bin/nvcc"
        which, script.shutil.which = script.shutil.which, lambda name: folder + "/" + name
        try:
            for ends, row in (("", ("pass", "compute-sanitizer", "ERROR SUMMARY: 0 errors")),
                              ("; exit 9", ("FAIL", "compute-sanitizer", "exit 9: ERROR SUMMARY: 0 errors"))):
                with tempfile.TemporaryDirectory() as folder:
                    write_program(folder + "/compute-sanitizer",
                                  "echo 'ROW pass|reduce|'; echo ERROR SUMMARY: 0 errors" + ends)
                    table, late = script.Table("gpu_check", 60), script.Table("gpu_check", 0)
                    with contextlib.redirect_stdout(io.StringIO()):
                        script.check_memory_accesses(table, folder)
                        script.check_memory_accesses(late, folder)
                self.assertEqual([row], table.rows)
                self.assertEqual([("skip", "compute-sanitizer", "no time is left for it")], late.rows)
            script.shutil.which = lambda name: None
            table = script.Table("gpu_check", 60)
            script.check_memory_accesses(table, "/prefix")
            self.assertEqual([("skip", "compute-sanitizer", "it is not on this machine")], table.rows)
        finally:
            script.shutil.which = which

    def test_a_torch_that_is_imported_for_too_long_is_a_reason_and_no_end(self):
        script = load_script("gpu_check")
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/python", "exec sleep 600")
            executable, sys.executable = sys.executable, folder + "/python"
            try:
                self.assertEqual(("importing torch took more than 1 s",) * 2, script.why_no_torch(1))
            finally:
                sys.executable = executable

    def test_the_python_that_runs_the_check_is_asked_for_torch(self):
        script = load_script("gpu_check")
        with tempfile.TemporaryDirectory() as folder:
            for answer, reasons in (("echo yes", ("", "")), ("echo no", ("torch sees no GPU",) * 2),
                                    ("echo no torch >&2; exit 1", ("no torch",) * 2),
                                    ("echo yes; echo no sklearn >&2; exit 1", ("", "no sklearn"))):
                write_program(folder + "/python", answer)
                executable, sys.executable = sys.executable, folder + "/python"
                try:
                    self.assertEqual(reasons, script.why_no_torch(60))
                finally:
                    sys.executable = executable

    def test_what_no_time_is_left_for_has_failed(self):
        script = load_script("gpu_check")
        table = script.Table("gpu_check", 0)
        script.check_torch(table, {})
        self.assertEqual([("FAIL", "torch on the GPU", "no time is left for it")], table.rows)

    def test_kernels_that_hang_do_not_keep_the_jobs_from_running(self):
        script = load_script("gpu_check")
        script.KERNELS_SECONDS = 1
        script.has_driver = lambda: True
        script.why_no_torch = lambda seconds: ("no torch", "no torch")
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/libexec/reigen/kernel_check",
                          "echo 'ROW pass|kernels load|1 byte'; exec sleep 600")
            write_program(folder + "/bin/reigenrun", 'while [ "$1" != --as ]; do shift; done\n'
                          'echo "ROW note|$2: bits|1f"')
            table = script.Table("gpu_check", 60)
            with contextlib.redirect_stdout(io.StringIO()):
                script.check_all(table, folder, [])
        rows = [row[:2] for row in table.rows]
        self.assertEqual([("pass", "kernels load"), ("FAIL", "kernels")], rows[:2])
        self.assertEqual([("note", label + ": bits") for label, _ in script.JOBS], rows[2:7])
        self.assertIn(("pass", "2 hosts: bits as by the CPU"), rows)

    def test_a_job_that_fell_back_to_the_cpu_fails_unless_its_row_says_so(self):
        script = load_script("gpu_check")
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/bin/reigenrun",
                          "echo '[0]<stderr>:reigen: CUDA tensors go through host memory: no handles'")
            table = script.Table("gpu_check", 60)
            with contextlib.redirect_stdout(io.StringIO()):
                script.check_ranks(table, folder, {"PATH": folder + "/bin:/usr/bin:/bin"}, [])
        for label, _ in script.JOBS:
            text = "reigen: CUDA tensors go through host memory: no handles"
            result = "note" if label.endswith("by the CPU") else "FAIL"
            self.assertIn((result, label, text), table.rows)

    def test_libraries_that_the_machine_lacks_are_those_of_the_archive_or_are_named(self):
        script = load_script("gpu_check")
        with tempfile.TemporaryDirectory() as folder:
            write_program(folder + "/bin/ldd", 'case ":$LD_LIBRARY_PATH:" in *reigen/lib:*) ;; '
                          "*) echo '\tlibibverbs.so.1 => not found';; esac")
            env = {"PATH": folder + "/bin:/usr/bin:/bin"}
            table = script.Table("gpu_check", 60)
            self.assertFalse(script.check_libraries(table, folder, env))
            self.assertEqual(("FAIL", "libraries"), table.rows[0][:2])
            self.assertIn("lacks libibverbs.so.1: install libibverbs1", table.rows[0][2])
            os.makedirs(folder + "/libexec/reigen/lib")
            table = script.Table("gpu_check", 60)
            self.assertTrue(script.check_libraries(table, folder, env))
            self.assertEqual(["note"], [result for result, _, _ in table.rows])
            self.assertEqual(folder + "/libexec/reigen/lib", env["LD_LIBRARY_PATH"])
            write_program(folder + "/bin/ldd", "echo \"x: version \\`GLIBC_2.36' not found\"")
            self.assertFalse(script.check_libraries(table, folder, env))
            self.assertIn("lacks GLIBC_2.36", table.rows[-1][2])

    def test_nvcc_has_the_flags_of_the_build(self):
        with open(os.path.join(TREE, "bazel/cuda.bzl")) as file:
            rule = file.read()
        lists = re.findall(r"args\.add_all\((\[.*?\])\)", rule)
        flags = [flag for text in lists for flag in ast.literal_eval(text) if flag not in ("-I", ".")]
        for kind in ast.literal_eval(re.search(r"GENCODE = (\[.*?\])", rule, re.DOTALL).group(1)):
            flags += ["-gencode", kind]
        self.assertEqual(flags, load_script("gpu_check").NVCC_FLAGS)

    def test_the_sources_of_what_checks_the_kernels_are_all_that_gxx_needs(self):
        # In one file, which takes seconds; --long builds them as gpu_check does.
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/all.cc", "w") as out:
                out.writelines('#include "%s"\n' % source for source in load_script("gpu_check").SOURCES)
            done = subprocess.run(["g++", "-std=c++20", "-I", TREE, "-o", folder + "/kernel_check",
                                   folder + "/all.cc", "-ldl", "-pthread"], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=480)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:])

    if os.environ.get("REIGEN_TEST_LONG"):
        def test_the_kernels_with_nvcc_and_gxx_alone(self):
            if not load_script("gpu_check").find_nvcc():
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
