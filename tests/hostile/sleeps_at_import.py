"""timeout: does not finish loading"""

import time

time.sleep(3600)
