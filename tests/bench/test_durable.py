"""The benchmark of the journal: everything is read once, whatever the speed."""

from __future__ import annotations

import pytest

from sapwood.bench.durable import Figures, _report, measure


@pytest.mark.slow
def test_everything_is_read_with_a_journal() -> None:
    figures = measure("disk", 2000)
    assert figures.read == figures.published == 2000
    assert figures.rate > 0


def test_what_was_lost_is_no_good_report() -> None:
    whole, short = Figures(1.0, 10, 10), Figures(2.0, 9, 10)
    assert _report({"memory": whole, "disk": whole}).is_right
    assert not _report({"memory": whole, "disk": short}).is_right
