"""The scripts for several ranks, of the Python package and of this folder."""
import os
import unittest

import jobs

SCRIPTS = os.path.join(jobs.TREE, "client/python/tests/ranks")


def script(name, *arguments):
    return [jobs.PYTHON, os.path.join(SCRIPTS, name)] + list(arguments)


class PythonPackageTest(jobs.JobCase):
    RANKS = (2, 3, 4) if jobs.LONG else (2, 4)

    def run_script(self, name, *arguments, ranks=None):
        for number in ranks or self.RANKS:
            with self.subTest(ranks=number):
                self.run_job(number, script(name, *arguments))

    def test_c32_c33_c35_every_type_and_operation_empty_tensors_and_views(self):
        self.run_script("dtypes.py")

    def test_c06_ranks_that_disagree_all_get_the_error_and_go_on(self):
        self.run_script("errors.py")

    def test_c48_forked_children_do_no_harm(self):
        self.run_script("forks.py", "50" if jobs.LONG else "5", ranks=(2,))

    def test_c59_waits_hold_neither_the_gil_nor_signals_back(self):
        self.run_script("waiting.py", ranks=(4,))

    def test_the_optimizer_trains_as_one_process_does(self):
        self.run_script("optimizer.py")

    def test_200_rounds_of_init_and_shutdown_leave_memory_and_descriptors_flat(self):
        self.run_script("rounds.py", ranks=(2,))

    if jobs.LONG:
        def test_c34_more_than_two_to_the_31_elements(self):
            output = self.run_job(2, script("large.py"), timeout_seconds=1800)
            if "skipped" in output:
                self.skipTest("about 20 GiB of free memory are missing")


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
