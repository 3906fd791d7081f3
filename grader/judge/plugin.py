"""The hidden tests, run by pytest: each test is one check, its docstring's first line the label that the learner reads."""

import ast
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.judge.grade import Grade
from grader.judge.nursery import RunnerUnavailable
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle
from grader.results import CheckResult, Kind, Status

_OPTIONS = ("--import-mode=importlib", "--noconftest", "--assert=plain", "-c", "/dev/null")
# What pytest need not do here; unraisableexception alone would collect garbage for 0.2 s at every unit.
_WITHOUT = ("terminal", "cacheprovider", "faulthandler", "warnings", "unraisableexception", "threadexception")
_PLUGINS_OFF = tuple(part for name in _WITHOUT for part in ("-p", f"no:{name}"))


def run_checks(
    submission: Submission,
    tests: Path,
    stub: str,
    seed: int,
    keep_going: bool,
    emit: Callable[[Mapping[str, Any]], None],
) -> "Checks":
    """Run the hidden tests in file `tests` on `submission`. stub: the text of the file as it was handed out."""
    checks = Checks(submission, stub, seed, keep_going, emit)
    code = checks.run(tests)
    if not checks.results:
        reason = f"pytest found no test in {tests} (exit code {code})"
        checks.add(CheckResult("", "read the hidden tests", Status.GRADER_ERROR, reason=(reason,)))
    return checks


class Checks:
    """The pytest plugin: gives tests their `grade`, and turns what becomes of them into check results."""

    def __init__(
        self, submission: Submission, stub: str, seed: int, keep_going: bool, emit: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self.results: list[CheckResult] = []
        self.oracles: Mapping[str, Oracle] = {}
        self.specimens: dict[tuple[str, str], tuple[Any, ...]] = {}  # a case for each function and dtype
        self._submission = submission
        self._stub = stub
        self._seed = seed
        self._keep_going = keep_going
        self._emit = emit
        self._interrupted = False
        self._failed: dict[str, str] = {}  # function -> label of its first failed check

    def run(self, tests: Path) -> int:
        """Let pytest run the tests of one file, with this as its plugin; pytest's exit code."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            options = (*_OPTIONS, *_PLUGINS_OFF, "--rootdir", str(tests.parents[2]))
            code = pytest.main([*options, str(tests)], plugins=[self])
        if self._interrupted:
            raise KeyboardInterrupt  # pytest ends its own work only
        return int(code)

    @pytest.fixture
    def grade(self, request: pytest.FixtureRequest) -> Grade:
        return Grade(self._submission, request.param, self.oracles[request.param], self.specimens)

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "gpu(reason): runs on a GPU only")
        config.addinivalue_line("markers", "only(*functions): a check for these functions of the exercise alone")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Ask every function of the exercise every question, unless the test is marked `only` for some."""
        if "grade" in metafunc.fixturenames:
            self.oracles = metafunc.module.ORACLES
            marker = metafunc.definition.get_closest_marker("only")
            functions = marker.args if marker else tuple(self.oracles)
            metafunc.parametrize("grade", functions, indirect=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """All checks of the first function, then all of the next: the order of teaching."""
        order = self._submission.exercise.functions
        items.sort(key=lambda item: order.index(_function(item)))
        self._emit({"event": "started", "exercise": self._submission.exercise.id, "checks": len(items)})

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        torch.manual_seed(self._seed ^ zlib.crc32(item.name.encode()))
        earlier = self._failed.get(_function(item))
        if earlier and not self._keep_going:
            pytest.skip(f'"{earlier}" comes first')
        if item.get_closest_marker("gpu") and self._submission.engine != "gpu":
            pytest.skip("needs a GPU")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        failed_or_called = call.excinfo is not None or call.when == "call"
        if failed_or_called:
            self._record(item, call)
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            reason = str(report.longrepr).strip().splitlines()[-1]
            self.add(CheckResult("", "read the hidden tests", Status.GRADER_ERROR, reason=(reason,)))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted = excinfo.type is KeyboardInterrupt  # pytest has a kind of its own for broken test files

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.add(CheckResult("", "run the hidden tests", Status.GRADER_ERROR, reason=(excinfo.exconly(),)))

    def _record(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        error = call.excinfo.value if call.excinfo else None
        status, kind, reason = self._verdict(error)
        if status is Status.FAILED:
            self._failed.setdefault(_function(item), label_of(item))
        cases = getattr(item, "funcargs", {}).get("grade")
        n_cases = cases.cases if cases else 0
        result = CheckResult(_function(item), label_of(item), status, kind, reason, n_cases, call.duration)
        if isinstance(error, CheckFailed) and kind is not Kind.NOT_STARTED:
            result = replace(result, margin=error.margin, error_map=error.error_map)
        self.add(result)

    def _verdict(self, error: BaseException | None) -> tuple[Status, Kind | None, tuple[str, ...]]:
        if error is None:
            return Status.PASSED, None, ()
        if isinstance(error, pytest.skip.Exception):
            return Status.NOT_RUN, None, (str(error.msg),)
        if isinstance(error, CheckFailed):
            return Status.FAILED, *self._name_stub(error)
        if isinstance(error, RunnerUnavailable):
            return Status.GRADER_ERROR, None, (str(error),)
        return Status.GRADER_ERROR, None, (f"{type(error).__name__} in the grader: {error}",)

    def _name_stub(self, failure: CheckFailed) -> tuple[Kind, tuple[str, ...]]:
        """An untouched stub is not a wrong kernel; it is one that nobody has begun.

        It writes nothing, neither its output nor what one of its kernels leaves for another.
        """
        if failure.kind in (Kind.UNWRITTEN, Kind.UNDEFINED) and same_code(self._submission.text, self._stub):
            return Kind.NOT_STARTED, ("nothing was written yet: this is still the stub, and failing is where one starts",)
        return failure.kind, failure.lines

    def add(self, check: CheckResult) -> None:
        self.results.append(check)
        self._emit({"event": "check", "data": asdict(check)})


def _function(item: pytest.Item) -> str:
    return str(item.callspec.params["grade"])  # type: ignore[attr-defined]  # every hidden test uses `grade`


def label_of(item: pytest.Item) -> str:
    """The first line of the test's docstring."""
    text = item.function.__doc__ or item.name  # type: ignore[attr-defined]
    return str(text).strip().splitlines()[0]


def same_code(one: str, other: str) -> bool:
    """Whether two files differ in comments and layout at most."""
    with suppress(SyntaxError, ValueError):
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    return False
