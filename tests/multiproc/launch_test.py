"""What trainers get: arguments, environment, interpreter; and what becomes of their
output.
"""
import os
import pickle
import re
import shutil
import subprocess
import threading
import time
import unittest

import job

RSH = ["--network-interface", "lo", "--rsh"]
SHELLS = ("sh", "bash", "zsh", "fish", "csh")


def fake_rsh(shell="/bin/sh"):
    return RSH + ["%s/fake_rsh %s {host} {quoted}" % (job.FOLDER, shell)]


def dump(running, rank):
    with open(running.path("dump.%d" % rank), "rb") as stream:
        return pickle.load(stream)


class C23OddEnvironmentTest(unittest.TestCase):
    WORDS = ["--x", "a b", "'it''s'", "*", "", "$HOME", ";", "ä", "\\", "!", "a\nb", '"']
    ODD = {"A.B": "1", "BASH_FUNC_f%%": "() {  echo f\n}", "NEWLINE": "a\nb", "QUOTES": "'\"`",
           "DOLLAR": "$HOME $(x)", "SEMICOLON": "; exit 9", "UNICODE": "äöü€", "EMPTY": "",
           "BIG": "x" * 60000}
    # Set anew for each trainer, or described in client/cli/reigenrun/environment.h.
    NOT_EQUAL = re.compile(rb"_|(REIGEN|HOROVOD)_(LOCAL_|CROSS_)?(RANK|SIZE)|REIGEN_(SOCKET|JOB)|"
                           rb"HOROVOD_(HOSTNAME|CONTROLLER)|PYTHONUNBUFFERED|LC_CTYPE|PWD|OLDPWD|"
                           rb"SHLVL|HOSTNAME|SSH_.*|DISPLAY|XDG_.*|DBUS_.*|TMUX.*|REIGEN_BIN")

    def check(self, arguments, **options):
        with job.Job(arguments, job.trainer("dump.py") + self.WORDS, self.ODD,
                     **options) as running:
            self.assertEqual(0, running.wait())
            for rank in range(2):
                got = dump(running, rank)
                self.assertEqual([os.fsencode(word) for word in self.WORDS], got["argv"])
                self.assertEqual(running.folder, got["folder"])
                wanted = {os.fsencode(name): os.fsencode(value)
                          for name, value in running.environment.items()}
                for name in wanted.keys() | got["environment"].keys():
                    if not self.NOT_EQUAL.fullmatch(name):
                        self.assertEqual(wanted.get(name), got["environment"].get(name), name)
                self.assertEqual(b"%d" % rank, got["environment"][b"REIGEN_RANK"])
            running.check_nothing_left(self)

    def test_c23_on_this_machine(self):
        self.check(["-np", "2"])

    def test_c23_bytes_that_are_not_utf8(self):
        self.WORDS = self.WORDS + ["\udcff"]
        self.ODD = dict(self.ODD, LATIN1="\udce4")
        self.check(["-np", "2"], folder_prefix="rg\udce4job-")

    def test_c23_through_every_login_shell(self):
        for name in SHELLS:
            shell = shutil.which(name, path="/usr/bin:/bin")
            with self.subTest(name):
                if shell is None:
                    self.skipTest(name + " is not installed")
                self.check(["-H", "nodea:1,nodeb:1"] + fake_rsh(shell))

    def test_a_template_of_words_needs_no_shell(self):
        self.check(["-H", "nodea:1,nodeb:1"] + RSH + ["env RSH_HOST={host} {command}"])


class C24AnotherPythonTest(unittest.TestCase):
    """The remote side has a bare PATH; the launcher runs in a virtual environment."""

    def venv(self, running):
        path = running.path("venv")
        subprocess.run([job.PYTHON, "-m", "venv", "--without-pip", "--copies", path], check=True)
        running.environment["PATH"] = path + "/bin:" + running.environment["PATH"]
        return path

    def test_c24_the_same_interpreter_as_the_launchers(self):
        running = job.Job(["-H", "nodea:1,nodeb:1"] + fake_rsh(),
                          ["python3"] + job.trainer("dump.py")[1:])
        path = self.venv(running)
        with running:
            self.assertEqual(0, running.wait())
            for rank in range(2):
                self.assertEqual(path + "/bin/python3", dump(running, rank)["executable"])

    def test_c24_a_host_without_it_is_named_with_path_and_way_out(self):
        running = job.Job(["-H", "nodea:1"] + fake_rsh(),
                          ["python3"] + job.trainer("dump.py")[1:])
        path = self.venv(running)
        running.environment["FAKE_RSH_REMOVE"] = path + "/bin/python3"
        with running:
            self.assertNotEqual(0, running.wait(20))
            self.assertLess(running.seconds(), 5 + job.SLACK_SECONDS)
            for part in ("nodea", path + "/bin/python3", "env python3"):
                self.assertIn(part, running.errors())
            running.check_nothing_left(self)


class C26OutputTest(unittest.TestCase):
    LINES = 10000
    RANKS = 4

    def check_line_streams(self, text):
        """Every line has one tag; per rank and stream the lines are all there, in order."""
        tag = re.compile(r"\[(\d)\]<(stdout|stderr)>:(.*)")
        found = {}
        for line in text.splitlines():
            match = tag.fullmatch(line)
            self.assertTrue(match, line[:300])
            self.assertNotIn(">:", match.group(3))
            found.setdefault((match.group(1), match.group(2)), []).append(match.group(3))
        self.assertEqual(2 * self.RANKS, len(found))
        for (rank, stream), lines in found.items():
            fd = 1 if stream == "stdout" else 2
            for number in range(self.LINES):
                self.assertTrue(lines[number].startswith("%d %d %s " % (fd, number, rank)))
                self.assertEqual(199, len(lines[number]))
            rest = lines[self.LINES:]
            bars = ["bar %d%%" % percent for percent in range(0, 101, 10)] if fd == 1 else []
            self.assertEqual(bars + ["tail %d of %s" % (fd, rank)], rest)

    def check_not_blocked(self, running):
        for rank in range(self.RANKS):
            with open(running.path("longest.%d" % rank)) as stream:
                self.assertLess(float(stream.read()), 1.0)

    def test_c26_whole_lines_with_one_tag_and_files_byte_for_byte(self):
        with job.Job(["-np", "4", "--output-filename", "out"],
                     job.trainer("lines.py")) as running:
            self.assertEqual(0, running.wait(120))
            self.check_line_streams(running.text() + running.errors())
            self.check_not_blocked(running)
            for rank in range(self.RANKS):
                for fd, name in ((1, "stdout"), (2, "stderr")):
                    wanted = b"".join(
                        (b"%d %d %d " % (fd, number, rank)).ljust(199, b"x") + b"\n"
                        for number in range(self.LINES))
                    if fd == 1:
                        wanted += b"".join(b"\rbar %d%%" % p for p in range(0, 101, 10)) + b"\n"
                    wanted += b"tail %d of %d" % (fd, rank)
                    with open(running.path("out/rank.%d/%s" % (rank, name)), "rb") as stream:
                        self.assertTrue(wanted == stream.read(), (rank, name))
            running.check_nothing_left(self)

    def test_c26_both_streams_in_one_pipe_are_not_mixed(self):
        read_end, write_end = os.pipe()
        text = bytearray()
        with job.Job(["-np", "4"], job.trainer("lines.py"), stdout=write_end,
                     stderr=write_end) as running:
            os.close(write_end)
            while True:
                data = os.read(read_end, 1 << 16)
                if not data:
                    break
                text.extend(data)
            self.assertEqual(0, running.wait(60))
        os.close(read_end)
        self.check_line_streams(text.decode())

    def test_c26_a_stdout_that_nobody_reads_stops_no_trainer(self):
        read_end, write_end = os.pipe()
        with job.Job(["-np", "4"], job.trainer("lines.py"), stdout=write_end) as running:
            os.close(write_end)
            deadline = time.monotonic() + 60
            while len([name for name in os.listdir(running.folder)
                       if name.startswith("longest.")]) < self.RANKS:
                self.assertLess(time.monotonic(), deadline, "trainers wait for the console")
                time.sleep(0.1)
            text = bytearray()
            reader = threading.Thread(target=running._read,
                                      args=(os.fdopen(read_end, "rb"), text))
            reader.start()
            self.assertEqual(0, running.wait(60))
            reader.join()
            self.check_not_blocked(running)
            self.check_line_streams(text.decode() + running.errors())

    def test_a_reader_that_goes_away_does_not_stop_the_job(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with job.Job(["-np", "2"], ["sh", "-c", "echo one; sleep 0.2; echo two; exit 5"],
                     stdout=write_end) as running:
            os.close(write_end)
            self.assertEqual(5, running.wait(30))
            self.assertIn("output is lost", running.errors())


if __name__ == "__main__":
    unittest.main(verbosity=2)
