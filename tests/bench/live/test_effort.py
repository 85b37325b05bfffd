"""What a run uses of the machine is looked at from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.bench.live import effort
from sapwood.bench.live.effort import Watched


def test_what_is_used_is_seen() -> None:
    watched = Watched([os.getpid()])
    total = 0
    while not (found := watched.effort()).brokers:
        total += sum(range(10_000))
    assert total
    assert found.clients > 0
    assert found.machine > 0
    assert found.processors == os.cpu_count()


def test_where_the_system_does_not_tell_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(effort, "_PROC", tmp_path)
    found = Watched([os.getpid()]).effort()
    assert (found.brokers, found.machine) == (0.0, 0.0)
