"""A trainer with a grandchild in a session of its own that ignores SIGTERM; rank 1
ignores SIGTERM itself. Sleeps.
"""
import os
import signal
import subprocess
import sys
import time

rank = int(os.environ["REIGEN_RANK"])
GRANDCHILD = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("grandchild up", flush=True)
time.sleep(300)
"""
if rank == 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", GRANDCHILD], start_new_session=True)
print("trainer up", flush=True)
time.sleep(300)
