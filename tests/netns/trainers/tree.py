"""A trainer that is hard to end: has a grandchild, and rank 1 ignores SIGTERM."""
import signal
import subprocess
import sys
import time

import reigen

reigen.init()
if reigen.rank() == 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["/bin/sh", "-c", "sleep 3600 & sleep 3600"])
print("rank %d is up" % reigen.rank(), flush=True)
time.sleep(3600)
sys.exit("not reached")
