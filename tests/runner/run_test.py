"""tests/run itself: what it hands on, what it leaves out, and what it does not let pass."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import counts  # noqa: E402
import toolkit  # noqa: E402


def load_run():
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(os.path.dirname(FOLDER), "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes_bytecode
    return module


def found(passed=0, skips=()):
    result = counts.Counts()
    result.passed = passed
    result.skips += skips
    return result


class RunTest(unittest.TestCase):
    def setUp(self):
        self.run_module = load_run()

    def run_with(self, nvcc, *stages, arguments=()):
        """(exit status, output) of tests/run with these stages, which are functions."""
        module = self.run_module
        module.run = lambda command, **options: types.SimpleNamespace(returncode=0)
        module.STAGES = [(stage, module.FAST, module.LONG) for stage in stages]
        module.NVCC = nvcc
        output = io.StringIO()
        with unittest.mock.patch.object(sys, "argv", ["run", *arguments]):
            with contextlib.redirect_stdout(output):
                status = module.main()
        return status, output.getvalue()

    def test_variables_of_jobs_are_not_the_callers_but_the_vms_cache_is(self):
        caller = {"REIGEN_TRANSPORT": "tcp", "HOROVOD_RANK": "3", "REIGEN_VM_CACHE": "/cache"}
        with unittest.mock.patch.dict(os.environ, caller):
            environment = self.run_module.job_environment()
        self.assertEqual("/cache", environment.get("REIGEN_VM_CACHE"))
        self.assertNotIn("REIGEN_TRANSPORT", environment)
        self.assertNotIn("HOROVOD_RANK", environment)
        self.run_module.NVCC = "/opt/cuda/bin/nvcc"
        self.assertEqual("/opt/cuda", self.run_module.job_environment().get("CUDA_HOME"))

    def test_the_vm_is_left_out_when_told_and_that_is_said(self):
        def rdma_vm(_):
            raise AssertionError("the VM was started")

        def unit(_):
            return found(1)

        self.run_module.rdma_vm = rdma_vm
        status, output = self.run_with(None, unit, rdma_vm, arguments=["--without-rdma-vm"])
        self.assertEqual(0, status)
        self.assertIn("skipped: rdma_vm: --without-rdma-vm", output)
        self.assertTrue(output.endswith("1 passed, 0 failed, 1 skipped\n"), output)

    def test_cases_that_skip_for_want_of_nvcc_fail_where_it_is(self):
        def hardware(_):
            return found(1, ["gpu_check: built without nvcc", "netns: root is needed"])

        status, output = self.run_with(None, hardware)
        self.assertEqual(0, status, output)
        status, output = self.run_with("/usr/local/cuda/bin/nvcc", hardware)
        self.assertEqual(1, status, output)
        self.assertIn("FAILED: gpu_check: built without nvcc (and there is /usr/local/cuda/bin/nvcc)",
                      output)
        self.assertTrue(output.endswith("1 passed, 1 failed, 1 skipped\n"), output)

    def test_where_nvcc_is_a_build_without_kernels_is_an_error(self):
        self.assertEqual(["--config=cuda"], self.run_module.cuda_flags("/usr/bin/nvcc"))
        self.assertEqual([], self.run_module.cuda_flags(None))

    def test_nvcc_is_found_as_the_build_finds_it(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/bin")
            with open(folder + "/bin/nvcc", "w") as program:
                os.fchmod(program.fileno(), 0o755)
            self.assertEqual(folder + "/bin/nvcc", toolkit.find_nvcc({"CUDA_HOME": folder}))
            self.assertEqual(folder + "/bin/nvcc", toolkit.find_nvcc({"CUDA_PATH": folder}))
            self.assertIsNone(toolkit.find_nvcc({"CUDA_HOME": folder, "REIGEN_HIDE_CUDA": "1"}))


if __name__ == "__main__":
    unittest.main()
