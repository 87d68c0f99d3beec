"""Runs the scripts of client/python/tests/ranks under reigenrun."""

import os
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(TREE, "client", "python")
ONE_HOST = ["-np", "3"]
TWO_HOSTS = ["-H", "localhost:2,127.0.0.1:1"]


def built(path):
    """A built file, in Bazel's runfiles or in the tree's own build."""
    for root in (TREE, os.path.join(TREE, ".bazel", "bin")):
        if os.path.exists(os.path.join(root, path)):
            return os.path.join(root, path)
    raise FileNotFoundError("%s is not built" % path)


def run_script(test, hosts, script, *arguments, limit_seconds=300, libraries=None):
    """Every rank must print "ok", or every one "skipped": why is in the output, the result."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REIGEN_", "HOROVOD_"))
    }
    environment["PYTHONPATH"] = PACKAGE
    environment["REIGEN_LIBRARY"] = built("client/c/libreigen.so")
    environment["OMP_NUM_THREADS"] = "1"
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = libraries
    command = [built("client/cli/reigenrun/reigenrun"), *hosts, sys.executable]
    ran = subprocess.run(
        command + [os.path.join(PACKAGE, "tests", "ranks", script), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_seconds,
        check=False,
    )
    test.assertEqual(ran.returncode, 0, ran.stdout[-8000:])
    if ran.stdout.count("<stdout>:skipped") == 3:
        test.skipTest(ran.stdout)
    test.assertEqual(ran.stdout.count("<stdout>:ok"), 3, ran.stdout[-8000:])
    return ran.stdout
