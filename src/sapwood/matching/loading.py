"""When the compiled engine is loaded, which takes a second, and much longer if it is compiled.

By default it is loaded when the first index has grown, and the index waits. A process that must
not wait loads it ahead in a thread (`preload`): until that is done its indexes scan, from then on
none does.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec


class Preload(Enum):
    """How far a process is that loads the engine ahead."""

    NOT_ASKED = "not asked"
    LOADING = "loading"
    LOADED = "loaded"


class EngineState:
    """Whether this process loads the engine ahead, and whether it is there."""

    def __init__(self) -> None:
        self.preload = Preload.NOT_ASKED

    @property
    def may_be_loaded(self) -> bool:
        """Whether an index that needs the engine may load it now, and wait.

        Not while it is loaded ahead, and never where NumPy or Numba is missing.
        """
        return self.preload is not Preload.LOADING and _is_installed()

    def load(self, work: Callable[[], None]) -> None:
        """Load the engine by doing some work with it; if that fails, all is as before."""
        before, self.preload = self.preload, Preload.LOADING
        try:
            work()
        except BaseException:
            self.preload = before
            raise
        self.preload = Preload.LOADED


@cache
def _is_installed() -> bool:
    return all(find_spec(name) is not None for name in ("numba", "numpy"))


ENGINE = EngineState()
"""That of this process."""


def preload(exercise: Callable[[], None] | None = None) -> None:
    """Load the compiled engine now, in the calling thread; afterwards every `MatchIndex` uses it.

    Run it in a thread of its own where others must not wait: meanwhile indexes of any size scan.
    ``exercise`` uses all that is to be loaded; by default, that is the engine alone.
    """
    ENGINE.load(exercise or _exercise_engine)


def _exercise_engine() -> None:
    import_module("sapwood.matching.warm").exercise()
