"""The faults of a scenario: what goes wrong, when, and where (Jaeger 2007, 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, TypeAlias

import msgspec

from sapwood.errors import ScenarioError
from sapwood.sim.parameters import check_at_least, check_between, check_positive
from sapwood.sim.scenario.errors import choices


class _Fault(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What all faults share."""

    at: float
    """Seconds after the start."""

    def __post_init__(self) -> None:
        check_at_least("at", self.at, 0)

    @property
    def ends_at(self) -> float:
        """When it is over."""
        return self.at


class _BrokerFault(_Fault, frozen=True, kw_only=True):
    """A fault of some brokers."""

    brokers: list[str] = []
    """Which; empty: a share of all, drawn with the seed."""
    share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("share", self.share, 0, 1)

    def check(self, known: Sequence[str]) -> None:
        """Refuse brokers that do not exist."""
        for name in self.brokers:
            if name not in known:
                raise ScenarioError(
                    f"names {name!r}; {choices(name, known, shown_max=6)}", "faults.brokers"
                )

    def chosen(self, known: Sequence[str], random: Random) -> list[str]:
        """The brokers it strikes: at least one, unless the share is zero."""
        if self.brokers or not self.share:
            return list(self.brokers)
        found = [name for name in known if random.random() < self.share]
        return found or [random.choice(known)]


class TableFault(_BrokerFault, frozen=True, kw_only=True, tag="tables", forbid_unknown_fields=True):
    """The tables of brokers are spoilt: entries, flags, clocks, everything kept with them."""

    entries: float = 1.0
    """Which share of what brokers keep is looked at; of that some stays as it was."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("entries", self.entries, 0, 1)


class CrashFault(_BrokerFault, frozen=True, kw_only=True, tag="crash", forbid_unknown_fields=True):
    """Brokers crash and start again at once; what is under way to and from them is lost."""

    state: Literal["initial", "stale", "spoilt"] = "initial"
    """What they have in their tables afterwards."""
    age: float = 0.0
    """How old a stale state is, in seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("age", self.age, 0)
        if self.age > self.at:
            raise ScenarioError(
                f"is {self.age:g}; there was nothing before the start, {self.at:g} seconds earlier",
                "faults.age",
            )


class MessageFault(_Fault, frozen=True, kw_only=True, tag="messages", forbid_unknown_fields=True):
    """For some time, messages sent over links are lost, doubled, changed, made up or held up."""

    seconds: float = 1.0
    """For how long."""
    loss: float = 0.0
    """The share that is lost."""
    duplication: float = 0.0
    """The share that arrives twice."""
    corruption: float = 0.0
    """The share of control messages that arrive as something else."""
    insertion: float = 0.0
    """Control messages per second that nobody sent, on some link."""
    late: float = 0.0
    """The share that arrives too late, perhaps after what was sent later."""
    late_seconds: float = 1.0
    """How much later."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("seconds", self.seconds)
        for name in ("loss", "duplication", "corruption", "late"):
            check_between(name, getattr(self, name), 0, 1)
        check_at_least("insertion", self.insertion, 0)
        check_at_least("late_seconds", self.late_seconds, 0)

    @property
    def ends_at(self) -> float:
        """When nothing of it is under way any more, but for the usual delays."""
        return self.at + self.seconds + (self.late_seconds if self.late else 0.0)


AnyFault: TypeAlias = TableFault | CrashFault | MessageFault
