"""Every operation on every type, for many numbers of ranks and sizes, exactly."""
import unittest

import jobs

ELEMENTS = "0,1,7,1023,1048579"


class OneHostTest(jobs.JobCase):
    def run_matrix(self, ranks):
        output = self.run_job(ranks, ["reigen-perf", "--check", "--op", "all", "--dtype", "all",
                                      "--counts", ELEMENTS, "--iters", "1", "--warmup", "0"],
                              timeout_seconds=900)
        self.assertIn("wrong elements on all ranks: 0", output)
        self.assertEqual(59 * 5, sum(1 for line in output.splitlines()
                                     if line.startswith("[0]<stdout>:  ")))

    def test_1_rank(self):
        self.run_matrix(1)

    def test_2_ranks(self):
        self.run_matrix(2)

    def test_3_ranks(self):
        self.run_matrix(3)

    def test_8_ranks(self):
        self.run_matrix(8)

    if jobs.LONG:
        def test_5_ranks(self):
            self.run_matrix(5)

    def test_heap_memory(self):
        output = self.run_job(3, ["reigen-perf", "--check", "--op", "all", "--memory", "heap",
                                  "--max", "1MiB", "--iters", "1"])
        self.assertIn("wrong elements on all ranks: 0", output)


if __name__ == "__main__":
    unittest.main()
