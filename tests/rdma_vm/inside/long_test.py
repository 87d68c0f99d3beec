"""What --long has besides: whole jobs of two workers that take their time."""
import os

import jobs

if jobs.LONG:
    class Long(jobs.Case):
        def test_digits_are_learnt_with_torch_over_rdma(self):
            """Importing torch takes over 20 s under emulation."""
            example = os.path.join(jobs.PROGRAMS, "digits_torch.py")
            with jobs.Job(["python3", example, "--epochs", "5"]) as job:
                output = job.succeed(1200)
            self.assertIn("link over rdma", output)
            self.assertRegex(output, "parameters of all 2 ranks are identical")

        def test_every_operation_and_type_over_rdma(self):
            with jobs.Job(["reigen-perf", "--op", "all", "--dtype", "all", "--min", "4",
                           "--max", "1MiB", "--factor", "64", "--iters", "2", "--warmup", "0",
                           "--check"]) as job:
                output = job.succeed(1200)
            self.assertIn("link over rdma", output)
            self.assertIn("wrong elements on all ranks: 0", output)
