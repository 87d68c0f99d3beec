"""Ways a job ends: the right code, a message, nothing left."""
import os
import signal
import time
import unittest

import job


class NormalEndTest(unittest.TestCase):
    def test_all_ranks_end_well(self):
        for place, arguments in job.PLACES.items():
            with self.subTest(place), job.Job(arguments, ["sh", "-c", "echo hello"]) as running:
                self.assertEqual(0, running.wait())
                running.check_nothing_left(self)
                self.assertEqual(sorted(running.text().splitlines()),
                                 ["[%d]<stdout>:hello" % rank for rank in range(3)])
                self.assertEqual("", running.errors())


    def test_links_that_close_at_the_end_alarm_nobody(self):
        environment = {"REIGEN_PACKAGE": os.path.join(job.TREE, "client/python"),
                       "REIGEN_LIBRARY": job.built("client/c/libreigen.so")}
        for _ in range(4):  # whose end comes first is a matter of chance
            with job.Job(["-H", "localhost:1,127.0.0.1:1,127.0.0.2:1"],
                         job.trainer("reduce.py"), environment) as running:
                self.assertEqual(0, running.wait())
                self.assertEqual("", running.errors())


class C02OneRankDiesTest(unittest.TestCase):
    def test_c02_the_others_do_not_idle_on(self):
        with job.Job(["-H", "localhost:2,127.0.0.1:2"],
                     job.trainer("end.py") + ["2", "raise"]) as running:
            code = running.wait(30)
            self.assertLess(running.seconds(), 15)
            self.assertEqual(1, code)
            self.assertRegex(running.errors(),
                             r"reigenrun: rank 2 on host 1 \(127\.0\.0\.1\).*code 1")
            self.assertRegex(running.errors(), r"(?m)^    RuntimeError: this rank fails$")
            running.check_nothing_left(self)


class C25LostCodeTest(unittest.TestCase):
    def test_c25_code_and_message_of_the_first_failure(self):
        for how, code, words in (("exit:7", 7, "code 7"), ("signal:9", 137, "signal 9"),
                                 ("signal:11", 139, "signal 11")):
            for place, arguments in job.PLACES.items():
                with self.subTest(how + ", " + place), \
                        job.Job(arguments, job.trainer("end.py") + ["1", how, "follow"]) as running:
                    self.assertEqual(code, running.wait(30))
                    self.assertRegex(running.errors(),
                                     r"reigenrun: rank 1 on host .*%s" % words)
                    self.assertRegex(running.errors(), r"(?m)^    last words of 1$")
                    running.check_nothing_left(self)

    def test_c25_a_lost_remote_shell_is_code_71_and_names_the_host(self):
        with job.Job(["-H", "nodea:1,nodeb:1", "--network-interface", "lo", "--rsh",
                      job.FOLDER + "/fake_rsh /bin/sh {host} {quoted}"],
                     job.trainer("family.py")) as running:
            running.wait_for("grandchild up", 2)
            shell, = [process for process in running.processes()
                      if "nodeb" in process.argv and process.argv[1].endswith("fake_rsh")]
            os.kill(shell.pid, signal.SIGKILL)
            self.assertEqual(71, running.wait(30))
            self.assertRegex(running.errors(), r"reigenrun: host 1 \(nodeb\).*guard")
            running.check_nothing_left(self)


class KilledTrainerTest(unittest.TestCase):
    def test_a_trainer_that_dies_among_its_requests_takes_no_worker_with_it(self):
        environment = {"REIGEN_PACKAGE": os.path.join(job.TREE, "client/python"),
                       "REIGEN_LIBRARY": job.built("client/c/libreigen.so")}
        for moment in range(20):
            with job.Job(["-H", "localhost:2,127.0.0.1:1"],
                         job.trainer("reduce.py") + ["for ever"], environment) as running:
                running.wait_for("going", 3)
                time.sleep(0.002 * moment)
                victim = [process for process in running.processes()
                          if process.program == "python3"][moment % 3]
                os.kill(victim.pid, signal.SIGKILL)
                self.assertEqual(137, running.wait(30))
                running.check_nothing_left(self)


class StartTest(unittest.TestCase):
    def test_a_host_that_cannot_be_reached_is_named_with_what_its_shell_said(self):
        with job.Job(["-H", "nodea:1,unreachable:1", "--network-interface", "lo", "--rsh",
                      job.FOLDER + "/fake_rsh /bin/sh {host} {quoted}"],
                     job.trainer("family.py")) as running:
            self.assertEqual(71, running.wait(30))
            self.assertIn("unreachable", running.errors())
            self.assertIn("no route", running.errors())
            running.check_nothing_left(self)

    def test_hosts_that_do_not_come_up_in_time_are_named(self):
        with job.Job(["-H", "nodea:1,silent:1", "--network-interface", "lo",
                      "--start-timeout", "2", "--rsh",
                      job.FOLDER + "/fake_rsh /bin/sh {host} {quoted}"],
                     job.trainer("family.py")) as running:
            self.assertEqual(71, running.wait(30))
            self.assertRegex(running.errors(), r"\(silent\).*--start-timeout")
            running.check_nothing_left(self)

    def test_a_program_that_is_missing_here_is_an_error_at_once(self):
        with job.Job(["-np", "2"], ["python99"]) as running:
            self.assertEqual(2, running.wait(10))
            self.assertIn("python99", running.errors())
            running.check_nothing_left(self, 1)

    def test_a_folder_for_a_hostfile_is_an_error(self):
        with job.Job(["--hostfile", "/tmp"], ["true"]) as running:
            self.assertEqual(2, running.wait(10))
            self.assertIn("/tmp: Is a directory", running.errors())

    def test_a_coordinator_that_cannot_start_is_code_72(self):
        for folder in ("/nowhere/at/all", "/nowhere/\udcff"):  # whatever bytes name it
            with self.subTest(ascii(folder)), \
                    job.Job(["-np", "1"], ["true"], {"REIGEN_RUNTIME_DIR": folder}) as running:
                self.assertEqual(72, running.wait(30))
                self.assertIn(os.fsencode(folder), running.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
