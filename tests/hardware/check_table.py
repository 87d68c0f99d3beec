"""The table that gpu_check and gdr_check fill: rows of programs, and what failed."""
import os
import re
import subprocess
import time


class Table:
    def __init__(self, name, limit_seconds):
        self.name = name
        self.rows = []  # (result, what, value)
        self.deadline = time.monotonic() + limit_seconds

    def add(self, result, what, value):
        self.rows.append((result, what, value))

    def run(self, what, command, env=None, limit_seconds=150):
        """Runs a program and takes its rows; a failure without one is a row."""
        print("+ " + " ".join(command), flush=True)
        limit_seconds = min(limit_seconds, max(self.deadline - time.monotonic(), 1))
        try:
            done = subprocess.run(command, env=env, text=True, errors="replace", check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            self.add("FAIL", what, "not done in %d s" % limit_seconds)
            return ""
        print(done.stdout, end="", flush=True)
        for mode in sorted(set(re.findall(r"rank=\d+ gpu=\S+ gpu-direct: [^\n]*", done.stdout))):
            self.add("note", what, mode)
        before = len(self.rows)
        for row in re.findall(r"ROW (\w+)\|([^|\n]*)\|([^\n]*)", done.stdout):
            self.add(*row)
        if done.returncode != 0 and not any(row[0] == "FAIL" for row in self.rows[before:]):
            lines = done.stdout.strip().splitlines()
            self.add("FAIL", what, "exit %d: %s" % (done.returncode, lines[-1] if lines else ""))
        return done.stdout if done.returncode == 0 else ""

    def show(self):
        width = max([len(what) for _, what, _ in self.rows] + [0])
        print("\n%s, %s" % (self.name, time.strftime("%Y-%m-%d")))
        for result, what, value in self.rows:
            print("%-5s  %-*s  %s" % (result, width, what, value))

    def exit_status(self):
        return 1 if any(result == "FAIL" for result, _, _ in self.rows) else 0


def job_environment(prebuilt):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("REIGEN_", "HOROVOD_"))}
    env["PATH"] = os.path.join(prebuilt, "bin") + ":" + env.get("PATH", "/usr/bin:/bin")
    env["PYTHONPATH"] = os.path.join(prebuilt, "python")
    return env
