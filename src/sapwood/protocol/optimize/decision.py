"""A swap that was thought of: all numbers that decided, and what became of it (A6)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from sapwood.protocol.naming import Name

DECISIONS_MAX: Final = 64
"""Decisions that a broker remembers."""

DecisionOutcome: TypeAlias = Literal[
    "proposed", "completed", "undone", "refused", "observed", "not worth it"
]
"""How far it came; observed: it would have been proposed, but nothing is to be changed."""


class Decision(msgspec.Struct, omit_defaults=True):
    """One swap, as the broker in the middle saw it."""

    at: float
    change: Name
    """The name of the proposal."""
    middle: Name
    mover: Name
    onto: Name
    moved: float
    """N: notifications per second that concern the mover."""
    joint: float
    """J: those of them that concern the other one, too."""
    alone: float
    """X: those that concern these two only."""
    window: float
    """Seconds of traffic that decided."""
    cost_old: float
    """c_av."""
    cost_new: float
    """c_ab."""
    cost_kept: float
    """c_vb."""
    processing_middle: float
    """p_v."""
    processing_onto: float
    """p_b."""
    gain: float
    """G."""
    sigma: float
    """Its standard error, by counting."""
    score: float
    """What is certain of the gain (less z times the errors), less what room for it costs."""
    price: float
    threshold: float
    """κ: what the score has to exceed."""
    doubt: float = 0.0
    """Its standard error because costs are measured, and not exact."""
    outcome: DecisionOutcome = "not worth it"
    reason: str = ""
    exchange: Name = ""
    """The name of the exchange of links, once there was one."""
    gain_seen: float | None = None
    """What it gained, as measured afterwards."""


def is_sound(decision: object) -> bool:
    """Whether something is a decision, and not what a fault made of one."""
    try:
        msgspec.convert(msgspec.to_builtins(decision), Decision)
    except (msgspec.ValidationError, TypeError, ValueError):
        return False
    return isinstance(decision, Decision)
