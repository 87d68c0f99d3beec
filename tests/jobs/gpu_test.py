"""Jobs with CUDA tensors on one host and on two, over the fake driver: they are reduced on
the GPUs or by the CPU, as --gpu-direct says, with the same results."""
import os
import subprocess
import unittest

import jobs

FAKE = os.path.join(jobs.TREE, ".bazel/bin/client/cuda/testing")
GPU_RANK = os.path.join(jobs.TREE, ".bazel/prefix/libexec/reigen/gpu_rank")
TWO_HOSTS = ["-H", "localhost:2,127.0.0.1:2"]
# The reference adds halves as one host does.
EXACT = ["--wire-precision", "fp32", "--log-level", "info"]
ON_GPUS = "tensors stay on the GPU"


class GpuTest(jobs.JobCase):
    def setUp(self):
        build = subprocess.run(["reigenrun", "--check-build"], text=True, check=True,
                               stdout=subprocess.PIPE).stdout
        if "built without nvcc" in build:
            self.skipTest("built without nvcc")

    def run_ranks(self, arguments, code=0, wrapper=()):
        output = self.run_job(2 if not arguments else 4, list(wrapper) + [GPU_RANK, "--quick"],
                              EXACT + list(arguments), code=code,
                              wrapper=["env", "LD_LIBRARY_PATH=" + FAKE])
        return output

    def check_rows(self, output):
        for what in ("every dtype and op", "a group of 300", "strided"):
            self.assertRegex(output, r"ROW pass\|[^|]*" + what)
        self.assertNotIn("ROW FAIL", output)

    def test_one_host_reduces_on_its_gpus(self):
        output = self.run_ranks([])
        self.check_rows(output)
        self.assertIn(ON_GPUS, output)
        for rank in range(2):
            self.assertRegex(output, r"rank=%d gpu=\S+ gpu-direct: not needed \(one host\)" % rank)
        self.assertNotIn("reduced by the CPU", output)

    def test_two_hosts_without_rdma_are_staged(self):
        output = self.run_ranks(TWO_HOSTS)
        self.check_rows(output)
        self.assertIn(ON_GPUS, output)
        for rank in range(4):
            self.assertRegex(output, r"rank=%d gpu=\S+ gpu-direct: staged \(.*tcp" % rank)
        self.assertNotIn("reduced by the CPU", output)

    def test_off_leaves_them_to_the_cpu(self):
        output = self.run_ranks(TWO_HOSTS + ["--gpu-direct", "off"])
        self.check_rows(output)
        self.assertNotIn(ON_GPUS, output)
        self.assertNotIn("gpu-direct:", output)

    def test_a_rank_without_kernels_has_its_hosts_others_do_without_and_all_are_told(self):
        script = 'if [ "$REIGEN_RANK" = 1 ]; then export REIGEN_CUDA_KERNELS=off; fi; exec "$0" "$@"'
        output = self.run_ranks(TWO_HOSTS, wrapper=["sh", "-c", script])
        self.check_rows(output)
        why = "CUDA device 0 has no kernels"
        self.assertIn("[1]<stderr>:reigen: CUDA tensors go through host memory: " + why, output)
        why = "rank 1 has no tensors on its GPU: " + why
        self.assertRegex(output, "localhost: .*go through host memory from now on: " + why)
        self.assertIn("[0]<stderr>:reigen: CUDA tensors go through host memory: " + why, output)
        self.assertNotRegex(output, r"127\.0\.0\.1: .*through host memory")
        for rank in (2, 3):
            self.assertNotIn("[%d]<stderr>:reigen: CUDA tensors go" % rank, output)

    def test_require_ends_the_job_on_all_hosts_with_the_reason(self):
        output = self.run_ranks(TWO_HOSTS + ["--gpu-direct", "require"], code=71)
        for host in range(2):
            self.assertRegex(output, r"host=%d the job ends: .*gpu-direct: staged \(.*, but "
                                     r"--gpu-direct is require" % host)

    def test_require_names_the_rank_that_has_no_tensors_on_its_gpu(self):
        script = ('if [ "$REIGEN_LOCAL_RANK" = 1 ]; then export REIGEN_CUDA_KERNELS=off; fi; '
                  'exec "$0" "$@"')
        output = self.run_ranks(TWO_HOSTS + ["--gpu-direct", "require"], code=71,
                                wrapper=["sh", "-c", script])
        self.assertRegex(output, r"reigenrun: host [01] .*rank [13] has no tensors on its GPU: CUDA "
                                 r"device 0 has no kernels.*, but --gpu-direct is require")

    def test_an_error_of_a_gpu_in_a_command_ends_the_job_with_its_name(self):
        # After the launches that try the other rank's memory.
        script = ('if [ "$REIGEN_RANK" = 1 ]; then export REIGEN_FAKE_CUDA_FAIL=cuLaunchKernel=719@4; fi; '
                  'exec "$0" "$@"')
        # Not --quick: its first tensors are so large that no kernel packs them.
        output = self.run_job(2, ["sh", "-c", script, GPU_RANK], EXACT, code=71,
                              wrapper=["env", "LD_LIBRARY_PATH=" + FAKE])
        self.assertRegex(output, r"reigenrun: host 0 \(localhost\): plan \d+ failed: rank 1's GPU: "
                                 r"CUDA device 0: cuLaunchKernel: CUDA_ERROR_")
        self.assertNotIn("ROW pass", output)


if __name__ == "__main__":
    unittest.main()
