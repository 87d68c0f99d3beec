"""Runs jobs of the installed tree on this host."""
import os
import subprocess
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(FOLDER))
PYTHON = "/usr/bin/python3"
LONG = bool(os.environ.get("REIGEN_TEST_LONG"))


def trainer(name, *arguments):
    return [PYTHON, os.path.join(FOLDER, "trainers", name)] + list(arguments)


def descendants(leader):
    """Process ids below it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as stream:
                    fields = stream.read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [leader]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


class JobCase(unittest.TestCase):
    maxDiff = None

    def run_job(self, ranks, command, arguments=(), code=0, timeout_seconds=300, wrapper=()):
        """Runs it to its end, which must have the code (None: any but 0); its output."""
        done = subprocess.run(
            list(wrapper) + ["reigenrun", "-np", str(ranks)] + list(arguments) + list(command),
            text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout_seconds,
            env=dict(os.environ, OMP_NUM_THREADS="1"))
        if code is None:
            self.assertNotEqual(0, done.returncode, done.stdout[-4000:])
        else:
            self.assertEqual(code, done.returncode, done.stdout[-4000:])
        return done.stdout
