"""The grader of a course in writing Triton GPU kernels: it says whether a kernel is right, where it is wrong, and why."""

__version__ = "0.1.0"
