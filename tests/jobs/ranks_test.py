"""The scripts for several ranks in trainers/; tests/python runs the Python package's."""
import unittest

import jobs

class C01DifferentNamesTest(jobs.JobCase):
    STALL = ["--stall-check-warning-time-seconds", "2", "--stall-check-shutdown-time-seconds", "6"]

    def test_c01_a_report_names_both_tensors_then_both_ranks_fail(self):
        output = self.run_job(2, jobs.trainer("other_names.py"), self.STALL, code=None)
        for name, missing in (("allreduce.a", 1), ("allreduce.b", 0)):
            self.assertRegex(output, r"reigenrun:.*%s.*\b%d\b" % (name, missing))
        for rank in (0, 1):
            self.assertRegex(output, r"\[%d\]<stdout>:raised after [2-8]\.\d s" % rank)
        self.assertRegex(output, r"(?s)raised.*allreduce\.a")
        self.assertRegex(output, r"(?s)raised.*allreduce\.b")

    def test_c01_a_skipped_call_is_not_passed_over_in_silence(self):
        output = self.run_job(2, jobs.trainer("skipped_call.py"), self.STALL, code=None)
        self.assertRegex(output, r"allreduce\.noname|has left")


class NumericsTest(jobs.JobCase):
    def test_c30_averages_of_halves_neither_overflow_nor_vanish(self):
        self.run_job(8, jobs.trainer("halves.py"))

    def test_c36_nan_wins_whichever_rank_holds_it(self):
        self.run_job(4, jobs.trainer("not_a_number.py"))


if __name__ == "__main__":
    unittest.main()
