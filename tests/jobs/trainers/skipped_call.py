"""C01: unnamed operations of one shape; rank 1 leaves one out at step 3."""
import numpy
import reigen

reigen.init()
for step in range(10):
    if not (reigen.rank() == 1 and step == 3):
        reigen.allreduce(numpy.full(8, step, dtype=numpy.float32), op=reigen.Sum)
reigen.shutdown()
