"""Every rank all-reduces a few tensors and ends, or goes on "for ever".

Needs REIGEN_LIBRARY.
"""
import array
import os
import sys

sys.path.insert(0, os.environ["REIGEN_PACKAGE"])
import reigen  # noqa: E402

reigen.init()
for count in (1, 30000, 1000000):
    values = array.array("f", [1]) * count
    reigen.allreduce_(values, name="x", op=reigen.Sum)
    assert values[-1] == reigen.size(), values[-1]
print("going", flush=True)
values = array.array("f", [1]) * 1000
while sys.argv[1:] == ["for ever"]:
    reigen.allreduce_(values, name="x", op=reigen.Max)
