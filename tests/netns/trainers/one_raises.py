"""Rank 2 fails after a second, the others sleep without a collective."""
import time

import reigen

reigen.init()
print("rank %d is up" % reigen.rank(), flush=True)
if reigen.rank() == 2:
    time.sleep(1)
    raise RuntimeError("out of luck")
time.sleep(120)
