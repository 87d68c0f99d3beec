"""C39: a program that computes on all cores is not slower for having called init."""
import os
import select
import signal
import statistics
import subprocess
import tempfile
import unittest

import jobs

SLICE_SECONDS = 0.3
PAIRS = 60
# A thread of ours that spun would take half of a core or more. Less than that other work
# of the machine does too: the ratio, which is to be under 1.02, is printed.
MOST = 1.15
ANSWER_SECONDS = 120


class Burner:
    """burn.py, plain or as the only rank of a job; computes when asked, else waits."""

    def __init__(self, folder, name, launcher=(), options=()):
        self.paths = [os.path.join(folder, name + end) for end in (".in", ".out")]
        for path in self.paths:
            os.mkfifo(path)
        self.process = subprocess.Popen(
            list(launcher) + jobs.trainer("burn.py", *self.paths) + list(options),
            stdin=subprocess.DEVNULL, start_new_session=True,
            # While its daemons stand still nobody is to miss them.
            env=dict(os.environ, REIGEN_TIMEOUT_SCALE="200"))
        # For both directions: opening them waits for nobody.
        self.commands, self.answers = [os.open(path, os.O_RDWR) for path in self.paths]

    def seconds(self, loops):
        os.write(self.commands, b"%d\n" % loops)
        if not select.select([self.answers], [], [], ANSWER_SECONDS)[0]:
            raise AssertionError("burn.py does not answer")
        return float(os.read(self.answers, 100))

    def signal_all(self, number):
        """To the job: launcher, daemons, trainer."""
        for pid in [self.process.pid] + jobs.descendants(self.process.pid):
            os.kill(pid, number)

    def end(self):
        os.close(self.commands)
        os.close(self.answers)
        return self.process.wait(60)


class C39SlowdownTest(jobs.JobCase):
    def ratio(self, plain, job, loops):
        """With init : without, the median of pairs. The job stands still meanwhile."""
        ratios = []
        for pair in range(PAIRS):
            def without():
                job.signal_all(signal.SIGSTOP)
                try:
                    return plain.seconds(loops)
                finally:
                    job.signal_all(signal.SIGCONT)
            # Drift of the machine's speed evens out.
            if pair % 2:
                first = without()
                ratios.append(job.seconds(loops) / first)
            else:
                first = job.seconds(loops)
                ratios.append(first / without())
        return statistics.median(ratios)

    if jobs.LONG:
        def test_c39_computing_on_all_cores_is_not_slower_after_init(self):
            with tempfile.TemporaryDirectory() as folder:
                plain = Burner(folder, "plain")
                job = Burner(folder, "job", ["reigenrun", "-np", "1"], ["--init"])
                try:
                    loops = 100000
                    loops = int(loops * SLICE_SECONDS / plain.seconds(loops))
                    ratio = self.ratio(plain, job, loops)
                    print("C39: all cores, time with init : without = %.4f, the median of %d "
                          "pairs" % (ratio, PAIRS))
                    self.assertLess(ratio, MOST)
                    self.assertEqual(0, plain.end())
                    self.assertEqual(0, job.end())
                finally:
                    for burner in (plain, job):
                        if burner.process.poll() is None:
                            burner.process.kill()
                        burner.process.wait()


if __name__ == "__main__":
    unittest.main()
