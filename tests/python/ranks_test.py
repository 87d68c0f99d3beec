"""The Python package between ranks, on one host and on two."""

import os
import re
import subprocess
import unittest

from rank_scripts import ONE_HOST, TWO_HOSTS, built, run_script


class DtypesTest(unittest.TestCase):
    def test_c32_c33_c35_on_one_host(self):
        run_script(self, ONE_HOST, "dtypes.py")

    def test_c32_c33_c35_on_two_hosts(self):
        run_script(self, TWO_HOSTS, "dtypes.py")


class ErrorsTest(unittest.TestCase):
    def test_disagreement_inside_a_host(self):
        run_script(self, ONE_HOST, "errors.py")

    def test_disagreement_between_hosts(self):
        run_script(self, TWO_HOSTS, "errors.py")


class OptimizerTest(unittest.TestCase):
    def test_c56_c57_equals_one_process(self):
        run_script(self, TWO_HOSTS, "optimizer.py")


class CudaTest(unittest.TestCase):
    """Over the fake driver: reduced on the GPUs and by the CPU, with the same bits."""

    LIBRARIES = os.path.dirname(built("client/cuda/testing/libcuda.so.1"))

    @staticmethod
    def has_kernels():
        return "built without nvcc" not in subprocess.run(
            [built("client/cli/reigenrun/reigenrun"), "--check-build"],
            stdout=subprocess.PIPE, text=True, check=True).stdout

    def check_paths(self, hosts):
        # Without kernels nothing is reduced on GPUs: the other paths are not there.
        has_kernels = self.has_kernels()
        digests = set()
        for path in ("device", "host", "mirrored") if has_kernels else ("host",):
            arguments = ["--gpu-direct", "off" if path == "host" else "auto"] + hosts
            output = run_script(self, arguments, "cuda.py", path, libraries=self.LIBRARIES)
            digests.update(re.findall(r"digest (\w+)", output))
        self.assertEqual(len(digests), 1)
        if not has_kernels:
            self.skipTest("built without nvcc: CUDA tensors through host memory alone")

    def check_gpus(self, hosts):
        if not self.has_kernels():
            self.skipTest("built without nvcc: CUDA tensors through host memory alone")
        said = run_script(self, hosts, "cuda_gpus.py", libraries=self.LIBRARIES)
        for rank in (0, 1):
            text = ("[%d]<stderr>:reigen: CUDA device 1: its tensors go through host memory: "
                    "this process used device 0 first") % rank
            self.assertEqual(said.count(text), 1, said)

    def test_trainers_with_two_gpus_each_in_other_orders_on_one_host(self):
        self.check_gpus(ONE_HOST)

    def test_trainers_with_two_gpus_each_in_other_orders_on_two_hosts(self):
        self.check_gpus(TWO_HOSTS)

    def test_orders_that_differ_with_little_room_on_one_host(self):
        run_script(self, ONE_HOST, "cuda_orders.py", libraries=self.LIBRARIES)

    def test_orders_that_differ_with_little_room_on_two_hosts(self):
        run_script(self, TWO_HOSTS, "cuda_orders.py", libraries=self.LIBRARIES)

    def test_cuda_tensors_on_one_host(self):
        self.check_paths(ONE_HOST)

    def test_cuda_tensors_on_two_hosts(self):
        self.check_paths(TWO_HOSTS)


class ProcessTest(unittest.TestCase):
    def test_c48_forked_children(self):
        run_script(self, ONE_HOST, "forks.py", "10")

    def test_c59_waits_hold_neither_gil_nor_signals(self):
        run_script(self, ONE_HOST, "waiting.py")

    def test_rounds_of_init_and_shutdown_leave_nothing(self):
        run_script(self, ONE_HOST, "rounds.py", "200")


if __name__ == "__main__":
    unittest.main()
