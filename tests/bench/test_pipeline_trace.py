"""Large traces are right but for what is planted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sapwood.bench.pipeline_trace import write_trace
from sapwood.trace import check, read


def test_the_checkers_find_what_is_planted_and_nothing_else(tmp_path: Path) -> None:
    planted = write_trace(tmp_path, 12_000, seed=2, faults=4)
    assert Counter(fault.kind for fault in planted) == {
        "lost": 4,
        "duplicated": 4,
        "out_of_order_fifo": 4,
        "out_of_order_causal": 4,
    }
    verdict = check(read(tmp_path))
    assert verdict.delivered > 10_000
    found = Counter((one.kind, one.notification, one.client) for one in verdict.violations)
    assert found == Counter(map(tuple, planted))


@pytest.mark.parametrize("seed", [1, 4])
def test_many_faults_bring_no_others_along(tmp_path: Path, seed: int) -> None:
    """Swapped at a client that publishes, they would: with these seeds, five and twenty-four."""
    planted = write_trace(tmp_path, 8000, seed, faults=40)
    found = check(read(tmp_path)).violations
    assert Counter((one.kind, one.notification, one.client) for one in found) == Counter(
        map(tuple, planted)
    )


def test_a_seed_gives_one_trace(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert write_trace(tmp_path / name, 400, seed=3) == []
    files = [sorted((tmp_path / name).iterdir()) for name in ("a", "b")]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
