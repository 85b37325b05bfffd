"""Settings of the whole suite: how hard Hypothesis tries, and which tests share a process.

`make check` tries a little, the same examples every time; `make test` tries more, again the
same, so that CI never fails by luck; `make test-long` draws new examples every time, and
what it finds goes into the test as an `@example`.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SLOW_MACHINES = [HealthCheck.too_slow]

settings.register_profile(
    "quick",
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW_MACHINES,
)
settings.register_profile("ci", parent=settings.get_profile("quick"), max_examples=100)
settings.register_profile(
    "long",
    parent=settings.get_profile("quick"),
    max_examples=5000,
    derandomize=False,
    print_blob=True,
)
settings.load_profile("quick")


TOGETHER = {
    "tests/bench/test_pipeline_run.py": "spark",
    "tests/cli/test_audit.py": "spark",
    "tests/experiments/test_running.py": "spark",
    "tests/cli/test_traffic.py": "spark",
    "tests/pipeline/spark/test_masters.py": "masters",
    "tests/pipeline/": "spark",
}
"""Tests that share something that takes long to start, by where they are. Those of other masters
have sessions of their own, so they may run beside the rest."""

SPARK_SECONDS_MAX = 600

_seconds: defaultdict[str, float] = defaultdict(float)
"""What the tests of each group took, on the process that hears of all of them."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests, in this process, on two cores, tuned to start quickly."""
    from sapwood.pipeline.spark.session import UNCOMPILED, open_session

    app = "sapwood tests"
    session = open_session("local[2]", app=app, short=True, settings=UNCOMPILED)
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests of the session out of quick checks: it starts slowly, and more so under load."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SPARK_SECONDS_MAX))


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector of garbage need not look at them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end everything goes, or else extensions complain of what they never get back."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests are spread over processes, keep those together that share what is slow to start.

    The marks by which xdist would do it have no effect with the structured node ids of pytest 9.
    Quick tests share nothing of the kind: `make check` lets processes steal work from each other.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _group_of(nodeid) or nodeid

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            # What is done is forgotten, or else all of it would be counted after every test.
            super().mark_test_complete(node, item_index, duration)
            assigned = self.assigned_work[node]
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(assigned[scope].values()):
                del assigned[scope]

    return Together(config, log) if config.getvalue("dist") == "load" else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    group = _group_of(report.nodeid)
    if group is not None:
        _seconds[group] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the groups took, each one after the other: Spark's is to be under 4 minutes."""
    for group, seconds in sorted(_seconds.items()):
        terminalreporter.line(f"Tests of group {group!r} took {seconds:.0f} s.")


def _group_of(nodeid: str) -> str | None:
    return next((name for path, name in TOGETHER.items() if nodeid.startswith(path)), None)
