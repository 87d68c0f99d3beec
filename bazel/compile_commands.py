#!/usr/bin/python3
"""Writes compile_commands.json, for clang-tidy and clangd, from bazel aquery.

usage: bazel/compile_commands.py [bazel options, as --config=cuda]

The generated headers have to be there for clang-tidy: build before.
"""
import json
import os
import subprocess
import sys

# What clang does not know of GCC's flags.
GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object",
            "-Wunused-but-set-parameter"}


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bazel = ["bazel"]
    query = 'mnemonic("CppCompile", //...)'
    result = subprocess.run(
        bazel + ["aquery", "--output=jsonproto", "--ui_event_filters=-info",
                 "--noshow_progress", *sys.argv[1:], query],
        cwd=root, check=True, stdout=subprocess.PIPE)
    # Paths in the commands are relative to the execution root, which has the
    # sources, bazel-out and external as links.
    execroot = subprocess.run(bazel + ["info", "execution_root"], cwd=root,
                              check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    commands = {}
    for action in json.loads(result.stdout)["actions"]:
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        if source.startswith(("bazel-out/", "external/")):
            continue
        arguments = [a for a in arguments if a not in GCC_ONLY]
        # The source's own path, so that edits and diagnostics are of that file.
        commands[source] = {
            "directory": execroot,
            "file": os.path.join(root, source),
            "arguments": [os.path.join(root, a) if a == source else a
                          for a in arguments],
        }
    with open(os.path.join(root, "compile_commands.json"), "w") as out:
        json.dump([commands[source] for source in sorted(commands)], out, indent=1)
    print(f"{len(commands)} files")


if __name__ == "__main__":
    main()
