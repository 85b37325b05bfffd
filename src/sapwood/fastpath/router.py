"""The face of the compiled router: plans by number, publishers by source, reads into runs.

What is remembered here is what ``sapwood.protocol.forwarding`` remembers for single notifications,
kept a second time in a form that compiled code reads. It lasts until the tables change. A broker
that never gets a long read never has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar

from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.compiled.table import remember
from sapwood.fastpath.kernel import route
from sapwood.fastpath.state import (
    ATTRIBUTES_SALT,
    ENGINE,
    ITEMS,
    NAME_NUMBERS,
    NEW_COUNT,
    PLAN_COUNT,
    POSITION,
    SOURCES_SALT,
    State,
)
from sapwood.matching import MatchIndex
from sapwood.matching.engine import Engine

Plan = TypeVar("Plan")

_SIZE_MIN = 1024


RoutedRun: TypeAlias = list[int]
"""Frames of a read that lie one behind the other and go to the same destinations: the number of
their plan (negative, LOOK_CLOSER, for a single frame that is not decided), where they start and
end, and how many they are. As an array gives it: a read may have very many of them."""


class Router(Generic[Plan]):
    """Remembers plans, and finds those of a read's frames."""

    def __init__(
        self,
        index: MatchIndex[tuple[str, str]],
        plan_for: Callable[[list[str]], Plan],
        remembered_max: int,
    ) -> None:
        self.plans: list[Plan] = []
        """By number. Another list after `clear`: runs found before it keep the one they had."""
        self._index = index
        self._plan_for = plan_for
        self._size_max = max(_SIZE_MIN, 1 << (2 * remembered_max - 1).bit_length())
        self._sources: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        """Of plans that came from outside, by identity."""
        self._state = State(_SIZE_MIN)
        self._engine: Engine | None = None
        """The one that the state knows."""

    def clear(self) -> None:
        """Forget everything."""
        if self._sources or self.plans:
            self._open(self._state.keys.size)

    def _open(self, size: int) -> None:
        self.plans = []
        self._sources = {}
        self._numbers = {}
        self._state.clear(size)

    def remember(self, source: str, publisher: bytes, attributes: bytes, plan: Plan) -> None:
        """A source may send what a publisher publishes, and attributes go where a plan says."""
        state = self._state
        salt = self._salt(source)
        remember(state.keys.address, id(publisher) + BYTES_OFFSET, len(publisher), salt, 0)
        number = self._numbers.get(id(plan))
        if number is None:
            number = self._numbers[id(plan)] = len(self.plans)
            self.plans.append(plan)
            state.numbers[PLAN_COUNT] = len(self.plans)
        at = id(attributes) + BYTES_OFFSET
        remember(state.keys.address, at, len(attributes), ATTRIBUTES_SALT, number)

    def _salt(self, source: str) -> int:
        number = self._sources.get(source)
        if number is None:
            number = self._sources[source] = SOURCES_SALT + len(self._sources)
        return number

    def route(
        self, source: str, data: bytes, at: int, now: float, *, stops: bool
    ) -> tuple[Sequence[RoutedRun], int]:
        """Runs of the frames from a place on, and where the last of them ends.

        That is before the end of the data behind a control message, at a frame that is cut off,
        and, if it ``stops`` there, behind a notification whose publisher is not known.
        """
        state = self._state
        numbers = state.numbers
        if state.keys.needs_room:
            self._open(min(2 * state.keys.size, self._size_max))
        salt = self._salt(source)
        engine = self._index.engine()
        if engine is not self._engine:
            numbers[ENGINE], numbers[NAME_NUMBERS], numbers[ITEMS] = self._engine = engine
        begin = id(data) + BYTES_OFFSET
        count = route(state.address, begin, at, len(data), salt, now, stops)
        new, _, matched, position = numbers[NEW_COUNT : POSITION + 1].tolist()
        if matched:
            self._index.count_events(matched)
        if new:
            self._make_plans(new)
        return state.runs[:count].tolist(), position

    def _make_plans(self, new: int) -> None:
        """For sets of destinations that the matching engine found for the first time."""
        for row in self._state.new_plans[:new].tolist():
            wanted = [self._index.destination(number) for number in row[1 : row[0] + 1]]
            self.plans.append(self._plan_for(wanted))
