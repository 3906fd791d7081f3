"""crash: it dies of a signal"""

import os
import signal

import torch


def double(x: torch.Tensor) -> torch.Tensor:
    os.kill(os.getpid(), signal.SIGSEGV)
    return torch.empty_like(x)
