"""A soak finds what grows; a short one of few brokers finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.testing.soaking import DISK_BYTES_MAX, IDLE_BYTES_MAX, Look, Soak, growth


def looks(resident: list[int], descriptors: int = 20, disk: int = 0) -> list[Look]:
    return [
        Look(float(at), {"B1": size, "B2": size}, {"B1": 20, "B2": descriptors}, disk)
        for at, size in enumerate(resident)
    ]


def test_what_stays_as_it_is_is_no_problem() -> None:
    assert growth(looks([60, 70, 70, 71, 70, 70]), 60) == []


def test_growth_of_memory_descriptors_and_disk_is_found() -> None:
    (memory,) = growth(looks([60, 62, 70, 75, 80, 90]), 60)
    assert "the median broker grew from 72 to 85 bytes" in memory
    grown = [*looks([60] * 4), *looks([60] * 2, descriptors=50)]
    assert growth(grown, 60) == ["descriptors grew from 20 to 50"]
    (disk,) = growth(looks([60] * 6, disk=DISK_BYTES_MAX + 1), 60)
    assert "bytes of disk" in disk
    (idle,) = growth(looks([60] * 6), IDLE_BYTES_MAX + 1)
    assert "an idle broker takes 80,000,001 bytes" in idle


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("brokers", "minutes"), [(6, 2.0), (40, 60.0)], ids=["short", "an hour"])
def test_brokers_that_run_for_long_do_not_grow(
    brokers: int, minutes: float, tmp_path: Path
) -> None:
    soaked = Soak(brokers, tmp_path, seed=1).run(minutes)
    print(soaked._replace(looks=soaked.looks[-1:]))
    assert soaked.problems == []
    assert soaked.read == 2 * soaked.confirmed > 0
