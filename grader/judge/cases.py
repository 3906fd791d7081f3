"""What the hidden tests of an exercise would ask of a submission, written down without asking."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from grader.judge.grade import Grade
from grader.judge.plugin import Checks, label_of
from grader.judge.submission import Submission


@dataclass(frozen=True)
class Case:
    """One question: the arguments of a call, and whether the answer must be right to the last bit."""

    arguments: tuple[Any, ...]
    exact: bool

    @property
    def size(self) -> int:
        """Elements of the largest argument."""
        return max((a.numel() for a in self.arguments if isinstance(a, Tensor)), default=0)


@dataclass
class Recorder(Grade):
    """Stands in for `Grade` and only writes down the cases. label: of the hidden test."""

    label: str = ""
    recorded: list[Case] = field(default_factory=list)

    def __call__(self, *arguments: Any, exact: bool = False, **limits: Any) -> None:
        self.recorded.append(Case(arguments, exact))

    def compiled(self, operator: str, *tensors: Tensor) -> None:
        """A question about registration, not about values."""


class Recording(Checks):
    """Runs hidden tests without a submission; `recorders` holds what each test asked, by function."""

    def __init__(self, submission: Submission, seed: int) -> None:
        super().__init__(submission, stub="", seed=seed, keep_going=True, emit=lambda event: None)
        self.recorders: dict[str, list[Recorder]] = {}

    @pytest.fixture
    def grade(self, request: pytest.FixtureRequest) -> Grade:
        label = label_of(request.node)
        recorder = Recorder(self._submission, request.param, self.oracles[request.param], label=label)
        self.recorders.setdefault(request.param, []).append(recorder)
        return recorder


def record(submission: Submission, tests: Path, seed: int) -> Mapping[str, list[Recorder]]:
    """For each function, one recorder for each hidden test in file `tests`, with the cases that it asks with this seed."""
    recording = Recording(submission, seed)
    recording.run(tests)
    return recording.recorders
