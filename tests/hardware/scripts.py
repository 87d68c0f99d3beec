"""What the tests of gpu_check and gdr_check share."""
import importlib.machinery
import importlib.util
import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PREFIX = os.path.join(TREE, ".bazel/prefix")
FAKE = os.path.join(TREE, ".bazel/bin/client/cuda/testing")


def load_script(name):
    """A script of this folder as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TREE, "tests/hardware", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes_bytecode
    return module


def write_program(path, text):
    """A shell script in the place of a program."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as program:
        program.write("#!/bin/sh\n" + text + "\n")
        os.fchmod(program.fileno(), 0o755)
