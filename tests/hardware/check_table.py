"""The table that gpu_check and gdr_check fill: rows of programs, and what failed."""
import os
import re
import signal
import subprocess
import tempfile
import time

# What a program or job says whose tensors did not go the GPU's way: results are right, and slow.
FELL_BACK = (r"tensors (?:of this host )?go through host memory|reduced by the CPU|copied one by one|"
             r"not page-locked")
END_SECONDS = 5  # for a program that is told to end


class Table:
    def __init__(self, name, limit_seconds):
        self.name = name
        self.rows = []  # (result, what, value)
        self.deadline = time.monotonic() + limit_seconds
        self._failed = False  # the last program, by a row

    def add(self, result, what, value):
        self.rows.append((result, what, value))

    def seconds_left(self):
        return max(self.deadline - time.monotonic(), 0)

    def run(self, what, command, env=None, limit_seconds=150, forbidden="", rows=True,
            too_late="FAIL"):
        """Runs a program and shows and takes what it says (`rows`), also of one that does not end.

        A failure without a row is a row; so is a line that matches `forbidden`, of one that ended
        well a failure. What had not the time that it needs is a row of `too_late`. Returns the
        output of one that ended well.
        """
        print("+ " + " ".join(command), flush=True)
        limit_seconds = min(limit_seconds, self.seconds_left())
        if limit_seconds < 1:
            self.add(too_late, what, "no time is left for it")
            return ""
        with tempfile.NamedTemporaryFile() as out, open(out.name, errors="replace") as said:
            try:
                process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=subprocess.STDOUT, start_new_session=True)
            except OSError as error:
                self.add("FAIL", what, str(error))
                return ""
            output, status = self._follow(process, said, time.monotonic() + limit_seconds)
        self._failed = False
        if rows:
            self._take_rows(what, output, forbidden, "FAIL" if status == 0 else "note")
        if status is None:
            self.add(too_late, what, "not done in %d s" % limit_seconds)
        elif status != 0 and not self._failed:
            lines = output.strip().splitlines()
            self.add("FAIL", what, "exit %d: %s" % (status, lines[-1] if lines else ""))
        return output if status == 0 else ""

    @staticmethod
    def _follow(process, said, deadline):
        """(all that it says, its exit status); none of one that had to be ended."""
        output = ""

        def show():
            text = said.read()
            print(text, end="", flush=True)
            return text

        try:
            while process.poll() is None and time.monotonic() < deadline:
                output += show()
                time.sleep(0.05)
            status = process.poll()
        finally:
            end(process)
        return output + show(), status

    def _take_rows(self, what, output, forbidden, forbidden_is):
        before = len(self.rows)
        for mode in sorted(set(re.findall(r"rank=\d+ gpu=\S+ gpu-direct: [^\n]*", output))):
            self.add("note", what, mode)
        for row in re.findall(r"ROW (\w+)\|([^|\n]*)\|([^\n]*)", output):
            self.add(*row)
        told = [re.sub(r"^\[\d+\]<\w+>:", "", line) for line in output.splitlines()]
        for line in dict.fromkeys(told):
            if forbidden and re.search(forbidden, line):
                self.add(forbidden_is, what, line)
            elif line.startswith("reigen: "):
                self.add("note", what, line)
        self._failed = any(row[0] == "FAIL" for row in self.rows[before:])

    def show(self):
        width = max([len(what) for _, what, _ in self.rows] + [0])
        print("\n%s, %s" % (self.name, time.strftime("%Y-%m-%d")))
        for result, what, value in self.rows:
            print("%-5s  %-*s  %s" % (result, width, what, value), flush=True)

    def exit_status(self):
        return 1 if any(result == "FAIL" for result, _, _ in self.rows) else 0


def end(process):
    """Ends it and what it has started, which may still hold its output."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all have ended
    process.wait()


def show_when_told_to_end(table):
    """A table that is cut short is shown as far as it is."""
    def stop(number, _):
        table.add("FAIL", table.name, "ended by signal %d" % number)
        raise SystemExit(1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def job_environment(prebuilt):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("REIGEN_", "HOROVOD_"))}
    env["PATH"] = os.path.join(prebuilt, "bin") + ":" + env.get("PATH", "/usr/bin:/bin")
    env["PYTHONPATH"] = os.path.join(prebuilt, "python")
    return env
