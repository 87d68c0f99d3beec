"""Jobs that are told to end: nothing is left."""
import os
import signal
import time
import unittest

import job


class C27ProcessesLeftTest(unittest.TestCase):
    def test_c27_a_signal_to_the_launcher_ends_everything(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name), \
                    job.Job(["-H", "localhost:2,127.0.0.1:2"],
                            job.trainer("family.py")) as running:
                running.wait_for("grandchild up", 4)
                begin = time.monotonic()
                running.process.send_signal(number)
                self.assertEqual(128 + number, running.wait(30))
                self.assertLess(time.monotonic() - begin, job.END_SECONDS + job.SLACK_SECONDS)
                self.assertRegex(running.errors(), "reigenrun: .*signal %d" % number)
                running.check_nothing_left(self, 1)

    def test_c27_a_launcher_whose_output_nobody_reads_ends_too(self):
        read_end, write_end = os.pipe()
        with job.Job(["-np", "2"], ["sh", "-c", "echo up >&2; yes 'much to read'"],
                     stdout=write_end) as running:
            os.close(write_end)
            running.wait_for("up", 2)
            time.sleep(0.5)  # let the pipe fill
            running.process.send_signal(signal.SIGTERM)
            self.assertEqual(143, running.wait(job.END_SECONDS + job.SLACK_SECONDS))
            running.check_nothing_left(self)
        os.close(read_end)

    def test_c27_a_second_ctrl_c_hurries(self):
        with job.Job(["-np", "2"], job.trainer("family.py"),
                     {"REIGEN_TIMEOUT_SCALE": "20"}) as running:
            running.wait_for("grandchild up", 2)
            running.process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            running.process.send_signal(signal.SIGINT)
            self.assertEqual(130, running.wait(15))
            running.check_nothing_left(self, 5)

    def test_c27_the_launchers_death_ends_everything(self):
        for place, arguments in job.PLACES.items():
            with self.subTest(place), \
                    job.Job(arguments, job.trainer("family.py")) as running:
                running.wait_for("grandchild up", 3)
                running.process.kill()
                running.check_nothing_left(self)

    def test_c27_what_cannot_be_killed_is_named_and_the_launcher_ends(self):
        with job.Job(["-H", "nodea:1", "--network-interface", "lo", "--rsh",
                      job.FOLDER + "/fake_rsh /bin/sh {host} {quoted}"],
                     ["sh", "-c", "cp /usr/bin/sleep unkillable; ./unkillable 300 & echo up; wait"],
                     {"REIGEN_TEST_UNKILLABLE": "unkillable",
                      "FAKE_RSH_PRELOAD": job.built("tests/multiproc/unkillable.so")}) as running:
            running.wait_for("up")
            time.sleep(0.5)  # let it exec
            running.process.send_signal(signal.SIGINT)
            self.assertEqual(130, running.wait(30))
            survivor, = running.processes()
            self.assertRegex(running.errors(), r"host nodea: process %d cannot be killed"
                             % survivor.pid)
            # It is not a zombie of ours but a living process, and no daemon is left.
            self.assertIn("unkillable", survivor.argv[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
