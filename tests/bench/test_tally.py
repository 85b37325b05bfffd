"""The benchmark of counting, small: both brokers do the same, and one of them counts all of it."""

from __future__ import annotations

import pytest

from sapwood.bench import tally
from sapwood.bench.network_load import many_topics, one_to_one
from sapwood.bench.registry import Options
from sapwood.bench.tally import READ, WARM, Size, measure, read_of, run
from sapwood.wire.frames import split

TINY = Size(4, 2, 100)


def test_reads_follow_each_other() -> None:
    workload = many_topics(10)
    assert len(list(split(read_of(workload, 0)))) == READ
    assert read_of(workload, 0) != read_of(workload, 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_everything_is_counted() -> None:
    found = measure(one_to_one("W1", "one to one"), TINY)
    assert found.published == (WARM + TINY.rounds * TINY.reads) * READ
    assert found.counted == found.published
    assert found.plain > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_report_has_all_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "QUICK", TINY)
    report = run(Options(quick=True), lambda what: None)
    assert list(report.figures) == ["W1", "W3", "W5/100"]
    assert report.is_right
    monkeypatch.setattr(tally._Reader, "counted", lambda self: 0)
    assert not run(Options(quick=True), lambda what: None).is_right
