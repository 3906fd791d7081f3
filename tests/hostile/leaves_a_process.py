"""timeout: a child in a session of its own outlives a hanging parent; the test looks for it afterwards"""

import ctypes
import os
import time


def double(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, b"left-behind", 0, 0, 0)
        time.sleep(3600)
    time.sleep(3600)
