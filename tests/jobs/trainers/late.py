"""C39: rank 1 comes 5 seconds late; rank 0 must not burn a core meanwhile."""
import os
import time

import numpy
import reigen

before = os.sched_getaffinity(0)
reigen.init()
assert os.sched_getaffinity(0) == before
if reigen.rank() == 1:
    time.sleep(5)
begin, used = time.monotonic(), time.process_time()
reigen.allreduce(numpy.ones(1000, dtype=numpy.float32), name="late")
waited, used = time.monotonic() - begin, time.process_time() - used
if reigen.rank() == 0:
    assert waited > 3, waited
    assert used < 0.2 * waited, (used, waited)
reigen.shutdown()
