"""Runs a command until it ends, this script is told to end, or the process that started it is gone.

supervise.py PATH COMMAND ARGUMENT...: removes the file or directory PATH in the end.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

# Threads of the tests block signals, and what they start would, too.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
parent = os.getppid()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True)


def end(*_):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
while child.poll() is None:
    if os.getppid() != parent:
        end()
    time.sleep(0.2)
sys.exit(child.returncode)
