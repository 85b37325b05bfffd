"""What users reach by ``import sapwood`` alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sapwood
from sapwood.runtime.client import Bus, Gap, Subscription, connect


def test_the_client_library_is_reached_by_one_import() -> None:
    assert (sapwood.connect, sapwood.Bus) == (connect, Bus)
    assert (sapwood.Gap, sapwood.Subscription) == (Gap, Subscription)


def test_all_names_are_there() -> None:
    assert set(sapwood.__all__) <= set(dir(sapwood))
    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("sapwood.Filter('a = 1')", {"asyncio", "ssl", "uvloop", "numba", "numpy"}),
        ("sapwood.connect", {"uvloop", "numba", "numpy", "pyarrow"}),
        ("sapwood.sync.connect()", {"numba", "numpy", "pyarrow"}),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(code: str, unwanted: set[str]) -> None:
    script = f"import sapwood\n{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(done.stdout.split()) & unwanted == set()


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(AttributeError, match="module 'sapwood' has no attribute 'conect'"):
        _ = sapwood.conect
