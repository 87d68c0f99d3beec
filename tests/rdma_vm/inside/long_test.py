"""What --long has besides: whole jobs of two workers that take their time."""
import os

import jobs

PYTHON = "/usr/bin/python3"  # has torch, and all users may run it
SCRATCH_KIB = 64 << 10  # what a worker registers before there are links

if jobs.LONG:
    class Long(jobs.Case):
        def test_digits_are_learnt_with_torch_over_rdma(self):
            """Importing torch takes over 20 s under emulation."""
            example = os.path.join(jobs.PROGRAMS, "digits_torch.py")
            with jobs.Job([PYTHON, example, "--epochs", "5"]) as job:
                output = job.succeed(1200)
            self.assertIn("link over rdma", output)
            self.assertRegex(output, "parameters of all 2 ranks are identical")

        def test_c48_trainers_fork_for_fifty_rounds_and_torch_loads_with_workers(self):
            with jobs.Job([PYTHON, os.path.join(jobs.PROGRAMS, "forks.py"), "50"]) as job:
                output = job.succeed(1200)
            self.assertIn("link over rdma", output)
            self.assertEqual(2, output.count("<stdout>:ok"), output[-2000:])

        def test_every_operation_and_type_over_rdma(self):
            with jobs.Job(["reigen-perf", "--op", "all", "--dtype", "all", "--min", "4",
                           "--max", "1MiB", "--factor", "64", "--iters", "2", "--warmup", "0",
                           "--check"]) as job:
                output = job.succeed(1200)
            self.assertIn("link over rdma", output)
            self.assertIn("wrong elements on all ranks: 0", output)

        def test_c43_a_limit_that_holds_no_link_beside_the_scratch_makes_it_tcp(self):
            with jobs.Job(jobs.perf(("64KiB", "64KiB"), 2, ["--check"]), transport="auto",
                          environment={"REIGEN_TEST_MEMLOCK_KIB": str(SCRATCH_KIB)}) as job:
                output = job.succeed()
            self.assertIn("limited to 64 MiB, RDMA needs about 66 MiB; raise it", output)
            self.assertIn("link over tcp", output)
            self.assertIn("wrong elements on all ranks: 0", output)

        def test_c43_a_limit_hit_later_leaves_results_right(self):
            """It holds scratch and link; the GPUs' scratch, which comes with the first bucket,
            is too much. Their tensors then go through memory that is registered already."""
            environment = {"LD_LIBRARY_PATH": jobs.PROGRAMS,
                           "REIGEN_TEST_MEMLOCK_KIB": str(SCRATCH_KIB + 2048)}
            rank = [os.path.join(jobs.LIBEXEC, "gpu_rank"), "--quick"]
            with jobs.Job(rank, environment=environment) as job:
                output = job.succeed()
            if "built without nvcc" in output:
                self.skipTest("built without nvcc")
            self.assertIn("link over rdma", output)
            self.assertRegex(output, "scratch for GPUs: .*locked memory is limited to 66 MiB, of "
                                     r"which others hold a part, and \d+ [KM]iB more were needed; "
                                     "raise it")
            self.assertIn("ROW pass|ranks: every dtype and op|", output)
            self.assertNotIn("ROW FAIL", output)
