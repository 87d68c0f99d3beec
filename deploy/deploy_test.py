"""What deploy/install made: complete, and at home on any Debian 12.

Run by tests/run, after it has installed to .bazel/prefix.
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PREFIX = os.path.join(TREE, ".bazel/prefix")
PROGRAMS = ["reigenrun", "reigenctl", "reigen-worker", "reigen-coordinator", "reigen-perf"]
# Packages that a target machine is asked to have.
ALLOWED_PACKAGES = {"libc6", "libgcc-s1", "libstdc++6", "libibverbs1", "librdmacm1"}
PYTHON = "/usr/bin/python3"


def elf_files():
    return ([os.path.join(PREFIX, "bin", name) for name in PROGRAMS] +
            [os.path.join(PREFIX, "lib", name) for name in sorted(os.listdir(PREFIX + "/lib"))])


def dynamic(path):
    return subprocess.run(["readelf", "-dW", path], check=True, text=True,
                          capture_output=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic(path))


def system_path(name):
    text = subprocess.run(["/sbin/ldconfig", "-p"], check=True, text=True,
                          capture_output=True).stdout
    return re.search(r"^\s*%s .*=> (\S+)$" % re.escape(name), text, re.MULTILINE).group(1)


def package_of(path):
    """The Debian package of a system library."""
    for name in (path, os.path.realpath(path)):
        for spelling in (name, "/usr" + name, re.sub("^/usr", "", name)):
            found = subprocess.run(["dpkg-query", "-S", spelling], text=True,
                                   capture_output=True).stdout
            if found:
                return found.split(":")[0]
    raise AssertionError("no package has " + path)


class InstalledTest(unittest.TestCase):
    def test_all_is_there(self):
        for name in PROGRAMS:
            self.assertTrue(os.access(os.path.join(PREFIX, "bin", name), os.X_OK), name)
        for name in ["lib/libreigen.so", "include/reigen/reigen.h", "include/reigen/reigen.hpp",
                     "python/reigen/__init__.py", "python/reigen/torch/__init__.py"]:
            self.assertTrue(os.path.exists(os.path.join(PREFIX, name)), name)

    def test_what_is_needed_is_of_few_packages_or_comes_along(self):
        with open(os.path.join(TREE, "README.md")) as readme:
            said = readme.read()
        for path in elf_files():
            for name in needed(path):
                if os.path.exists(os.path.join(PREFIX, "lib", name)):
                    continue
                package = package_of(system_path(name))
                self.assertIn(package, ALLOWED_PACKAGES, "%s needs %s" % (path, name))
                self.assertTrue(package in said, "README.md does not name %s" % package)

    def test_no_path_of_this_machine_is_searched(self):
        for path in elf_files():
            for where in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic(path)):
                for folder in where.split(":"):
                    self.assertTrue(folder.startswith("$ORIGIN"), "%s: %s" % (path, folder))

    def test_programs_say_their_usage(self):
        for name in ("reigenrun", "reigenctl", "reigen-perf"):
            done = subprocess.run([os.path.join(PREFIX, "bin", name), "--help"], text=True,
                                  capture_output=True)
            self.assertEqual(0, done.returncode, name)
            self.assertIn("--", done.stdout, name)

    def test_a_c_program_compiles_and_links_against_it(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "program.c")
            with open(source, "w") as out:
                out.write('#include <reigen/reigen.h>\n'
                          'int main(void) { return reigen_init() || reigen_size() != 1 ||'
                          ' reigen_shutdown(); }\n')
            program = os.path.join(folder, "program")
            subprocess.run(["gcc", "-Wall", "-Werror", "-std=c99", "-I" + PREFIX + "/include",
                            source, "-o", program, "-L" + PREFIX + "/lib", "-lreigen",
                            "-Wl,-rpath," + PREFIX + "/lib"], check=True)
            subprocess.run([program], check=True)


class InstalledAgainTest(unittest.TestCase):
    def test_what_the_last_install_put_there_and_this_one_has_not_goes_and_nothing_else(self):
        loader = importlib.machinery.SourceFileLoader("install", os.path.join(TREE, "deploy/install"))
        install = importlib.util.module_from_spec(importlib.util.spec_from_loader("install", loader))
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        loader.exec_module(install)
        sys.dont_write_bytecode = writes_bytecode
        with tempfile.TemporaryDirectory() as prefix:
            def write(*names):
                for name in names:
                    os.makedirs(os.path.dirname(os.path.join(prefix, name)), exist_ok=True)
                    open(os.path.join(prefix, name), "w").close()
                return {os.path.join(prefix, name) for name in names}

            kept = write("bin/reigenrun", "python/reigen/_api.py")
            strangers = write("bin/reigen-perf.mine", "python/reigen/site.py", "lib/libother.so")
            gone = write("lib/libold.so.1", "python/reigen/torch.py", "python/reigen/old/__init__.py")
            install.remove_stale(prefix, kept | gone)
            self.assertEqual(set(), {path for path in kept | gone | strangers if not os.path.exists(path)})
            write("python/reigen/old/__pycache__/__init__.cpython-311.pyc")
            install.remove_stale(prefix, kept)
            self.assertEqual(set(), {path for path in gone if os.path.exists(path)})
            self.assertFalse(os.path.exists(prefix + "/python/reigen/old"))
            self.assertEqual(set(), {path for path in kept | strangers if not os.path.exists(path)})


class CopiedTest(unittest.TestCase):
    """The prefix, copied to another place in a root that has little else."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("root is needed for chroot")
        self.root = tempfile.mkdtemp(prefix="rgroot-")
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(PREFIX, self.root + "/opt/copied")
        for folder in ("proc", "dev", "tmp", "etc", "lib64"):
            os.makedirs(os.path.join(self.root, folder))
        os.chmod(self.root + "/tmp", 0o1777)
        shutil.copy("/lib64/ld-linux-x86-64.so.2", self.root + "/lib64")
        names = {name for path in elf_files() for name in needed(path)
                 if not os.path.exists(os.path.join(PREFIX, "lib", name))}
        os.makedirs(self.root + "/lib/x86_64-linux-gnu")
        while names:
            name = names.pop()
            target = os.path.join(self.root, "lib/x86_64-linux-gnu", name)
            if not os.path.exists(target):
                shutil.copy(system_path(name), target)
                names |= set(needed(target))

    def run_inside(self, command):
        """Runs it with /proc and /dev in a mount namespace of its own."""
        script = ('mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && '
                  'root=$0 && exec chroot "$root" "$@"')
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                               script, self.root] + command, text=True, capture_output=True,
                              env={"PATH": "/opt/copied/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                              timeout=60)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_a_job_of_two_ranks_runs_there(self):
        output = self.run_inside(["/opt/copied/bin/reigenrun", "-np", "2", "reigen-perf",
                                  "--check", "--max", "64KiB", "--iters", "2"])
        self.assertIn("wrong elements on all ranks: 0", output)

    def test_doctor_has_its_libraries_there_and_finds_nothing_broken(self):
        output = self.run_inside(["/opt/copied/bin/reigenctl", "doctor"])
        self.assertIn("no problem", output)


class PythonTest(unittest.TestCase):
    def test_the_package_finds_its_library_by_pythonpath_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(PREFIX, folder + "/elsewhere")
            code = ("import reigen; reigen.init(); assert reigen.size() == 1; "
                    "print(reigen.__file__)")
            done = subprocess.run([PYTHON, "-c", code], text=True, capture_output=True,
                                  env={"PYTHONPATH": folder + "/elsewhere/python"})
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(folder, done.stdout)


if __name__ == "__main__":
    unittest.main()
