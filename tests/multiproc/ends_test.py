"""Ways a job ends: the right code, a message, nothing left."""
import os
import re
import signal
import time
import unittest

import job

PLACES = {"one host": ["-np", "3"], "two hosts": ["-H", "localhost:1,127.0.0.1:2"]}


class NormalEndTest(unittest.TestCase):
    def test_all_ranks_end_well(self):
        for place, arguments in PLACES.items():
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
            for place, arguments in PLACES.items():
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


class LostDaemonTest(unittest.TestCase):
    """kill -9 and SIGSTOP of each daemon, on one of two hosts."""

    def lose(self, program, word, number, code, words, seen_seconds=3):
        with job.Job(["-H", "localhost:1,127.0.0.1:1"], job.trainer("family.py")) as running:
            running.wait_for("grandchild up", 2)
            begin = time.monotonic()
            os.kill(running.daemons(program, word)[0].pid, number)
            self.assertEqual(code, running.wait(30))
            self.assertLess(time.monotonic() - begin,
                            seen_seconds + job.END_SECONDS + job.SLACK_SECONDS)
            self.assertRegex(running.errors(), "reigenrun: " + words)
            self.assertNotIn("the launcher is gone", running.errors())
            running.check_nothing_left(self)

    def test_a_killed_worker(self):
        self.lose("reigen-worker", "serve", signal.SIGKILL, 71,
                  r"host \d \(.*the worker ended: signal 9")

    def test_a_stopped_worker(self):
        self.lose("reigen-worker", "serve", signal.SIGSTOP, 71, r"host \d \(.*worker")

    def test_a_killed_guard(self):
        self.lose("reigen-worker", "guard", signal.SIGKILL, 71, r"host \d \(.*guard")

    def test_a_stopped_guard(self):
        self.lose("reigen-worker", "guard", signal.SIGSTOP, 71,
                  r"host \d \(.*its guard, or the connection to it, has stopped: no sign of life for 10 s",
                  job.GUARD_SECONDS)

    def test_a_guard_that_is_stopped_for_a_second_loses_nothing(self):
        with job.Job(["-H", "localhost:1,127.0.0.1:1"],
                     ["sh", "-c", "echo before; sleep 4; echo after"]) as running:
            running.wait_for("before", 2)
            guard = running.daemons("reigen-worker", "guard")[0].pid
            os.kill(guard, signal.SIGSTOP)
            time.sleep(1)
            os.kill(guard, signal.SIGCONT)
            self.assertEqual(0, running.wait(30), running.errors())
            self.assertEqual(2, running.text().count("after"))

    def test_a_killed_coordinator(self):
        self.lose("reigen-coordinator", "", signal.SIGKILL, 72, "the coordinator was lost")

    def test_a_stopped_coordinator(self):
        self.lose("reigen-coordinator", "", signal.SIGSTOP, 72, "the coordinator has stopped")


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
        for place, arguments in PLACES.items():
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
