"""Writes argv, environment and interpreter, byte for byte, to JOB_FOLDER/dump.RANK."""
import os
import pickle
import sys

path = os.path.join(os.environ["JOB_FOLDER"], "dump." + os.environ["REIGEN_RANK"])
with open(path, "wb") as stream:
    pickle.dump({"argv": [os.fsencode(word) for word in sys.argv[1:]],
                 "environment": dict(os.environb),
                 "folder": os.getcwd(),
                 "executable": sys.executable}, stream)
