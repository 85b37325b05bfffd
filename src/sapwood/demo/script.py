"""What goes wrong, and when: one act after the other."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Act(enum.StrEnum):
    """What is shown."""

    CUT = "a link is cut and restored"
    OFFER = "circles are offered"
    CHANGE = "the tree is changed under load"
    SPOIL = "tables are corrupted"
    KILL = "the root is killed for good"


MAY_LOSE = (Act.SPOIL, Act.KILL)
"""Between such a fault and its end notifications may be lost; in the other acts nothing may be."""


class Scheduled(NamedTuple):
    """An act that begins after a share of the time, or when the one before has ended."""

    share: float
    act: Act


def script(brokers: int) -> list[Scheduled]:
    """The acts; with two brokers there is nothing a circle could be made of, or exchanged."""
    acts = [
        Scheduled(0.08, Act.CUT),
        Scheduled(0.20, Act.OFFER),
        Scheduled(0.25, Act.CHANGE),
        Scheduled(0.35, Act.SPOIL),
        Scheduled(0.60, Act.KILL),
    ]
    return [one for one in acts if brokers > 2 or one.act not in (Act.OFFER, Act.CHANGE)]
