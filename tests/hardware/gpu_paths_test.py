"""Whole jobs over the fake driver, each with something missing: the results are right, and
what the tensors' way is, and why, is said."""
import os
import subprocess
import unittest

from scripts import FAKE, PREFIX

RANK = PREFIX + "/libexec/reigen/gpu_rank"
ON_ITS_OWN_GPU = ["sh", "-c", "CUDA_VISIBLE_DEVICES=$REIGEN_LOCAL_RANK exec " + RANK + " --quick"]
TWO_HOSTS = ["-np", "2", "-H", "localhost:1,127.0.0.1:1"]


class GpuPathsTest(unittest.TestCase):
    def check(self, options, texts, command=None, absent=(), **variables):
        """The job's results are right, and it says these texts."""
        env = dict(os.environ, LD_LIBRARY_PATH=FAKE, PATH=PREFIX + "/bin:/usr/bin:/bin", **variables)
        done = subprocess.run(["reigenrun", "--log-level", "info"] + options +
                              (command or [RANK, "--quick"]), env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if "built without nvcc" in done.stdout:
            self.skipTest("built without nvcc")
        self.assertEqual(done.returncode, 0, done.stdout)
        for what in ("every dtype and op", "a group of 300", "strided", "order with streams"):
            self.assertIn("ROW pass|ranks: %s|" % what, done.stdout)
        for text in texts:
            self.assertIn(text, done.stdout)
        for text in absent:
            self.assertNotIn(text, done.stdout)

    def test_each_rank_on_a_gpu_of_its_own_works_on_the_others_memory(self):
        self.check(["-np", "2"], ["rank=0 gpu=0000:3b:00.0 gpu-direct: not needed (one host)",
                                  "rank=1 gpu=0000:4b:00.0 gpu-direct: not needed (one host)"],
                   ON_ITS_OWN_GPU, ["by the CPU"])

    def test_four_gpus_on_each_of_two_hosts(self):
        self.check(["-np", "8", "-H", "localhost:4,127.0.0.1:4"],
                   ["rank=%d gpu=0000:%db:00.0 gpu-direct: staged (" % (rank, 3 + rank % 4)
                    for rank in range(8)],
                   ON_ITS_OWN_GPU, ["by the CPU"], REIGEN_FAKE_CUDA_DEVICES="4")

    def test_gpus_that_do_not_reach_each_other_leave_it_to_the_cpu(self):
        self.check(["-np", "2"], ["and are reduced by the CPU: rank ", "'s GPU cannot reach the memory of ",
                                  ": CUDA device 0: cuIpcOpenMemHandle"],
                   ON_ITS_OWN_GPU, REIGEN_FAKE_CUDA_NO_PEER="1")

    def test_gpus_that_reach_each_other_but_not_rightly_leave_it_to_the_cpu(self):
        for lost in ("reads", "writes"):
            self.check(["-np", "2"], ["and are reduced by the CPU: rank ", " %s memory of GPU 0000:" % lost,
                                      "wrongly, though CUDA allows it"],
                       ON_ITS_OWN_GPU, REIGEN_FAKE_CUDA_BROKEN_PEER=lost)

    def test_memory_without_handles_is_not_used(self):
        why = "CUDA device 0: cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED"
        self.check(["-np", "2"], ["[%d]<stderr>:reigen: CUDA tensors go through host memory: %s" %
                                  (rank, why) for rank in (0, 1)],
                   REIGEN_FAKE_CUDA_FAIL="cuIpcGetMemHandle=801")

    def test_one_rank_whose_memory_has_no_handle_is_told_to_the_other(self):
        script = ('if [ "$REIGEN_RANK" = 1 ]; then export REIGEN_FAKE_CUDA_FAIL=cuIpcGetMemHandle=801; '
                  'fi; exec "$0" --quick')
        why = "rank 1 has no tensors on its GPU: CUDA device 0: cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED"
        self.check(["-np", "2"], ["go through host memory from now on: " + why,
                                  "[0]<stderr>:reigen: CUDA tensors go through host memory: " + why],
                   ["sh", "-c", script, RANK])

    def test_host_scratch_that_cannot_be_page_locked_leaves_it_to_the_cpu(self):
        self.check(TWO_HOSTS, ["cannot map the scratch for its GPU: CUDA device 0: cuMemHostRegister"],
                   REIGEN_FAKE_CUDA_FAIL="cuMemHostRegister_v2=2")

    def test_without_device_arenas_tensors_go_through_host_memory(self):
        self.check(["-np", "2"], [], absent=["gpu-direct: "], REIGEN_CUDA_ARENA_MB="0")

    def test_a_small_arena_takes_what_fits(self):
        self.check(TWO_HOSTS, ["in up to 2 MiB of its memory"], REIGEN_CUDA_ARENA_MB="2")

    def test_without_kernels_tensors_go_through_host_memory(self):
        self.check(["-np", "2"], ["copied one by one, for REIGEN_CUDA_KERNELS is off"],
                   absent=["gpu-direct: "], REIGEN_CUDA_KERNELS="off")


if __name__ == "__main__":
    unittest.main()
