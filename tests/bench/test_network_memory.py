"""Memory of a real broker, with few clients and subscriptions."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from sapwood.bench.network_memory import allow_files, measure_memory
from sapwood.bench.peers.server import choose_cores
from sapwood.errors import BenchmarkError


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="nobody tells here")
def test_memory_is_measured(tmp_path: Path) -> None:
    memory = measure_memory(tmp_path, choose_cores(), clients=50, subscriptions=500)
    assert memory is not None
    assert memory.idle_bytes > 10e6
    assert 0 <= memory.client_bytes < 1e6  # few fit into what is allocated anyway
    assert 0 < memory.subscriptions_bytes < 1e9


def test_more_files_are_allowed_where_that_is_possible() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        allow_files(200)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        allow_files(10)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        if before[1] != resource.RLIM_INFINITY:
            with pytest.raises(BenchmarkError, match="ulimit -n"):
                allow_files(before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
