"""Runs a command until it ends, this script is told to end, or the process that started it is gone.

supervise.py COMMAND ARGUMENT...
"""

import os
import signal
import subprocess
import sys
import time

parent = os.getppid()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)


def end(*_):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
while child.poll() is None:
    if os.getppid() != parent:
        end()
    time.sleep(0.2)
sys.exit(child.returncode)
