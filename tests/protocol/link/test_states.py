"""The tables of states are complete: every state has a row, can be reached, and can end."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from sapwood.protocol.link.states import (
    LINE,
    SESSION,
    TARGET,
    LineState,
    SessionState,
    Table,
    TargetState,
    following,
)

TABLES: list[tuple[Table[Any], type[StrEnum], list[StrEnum]]] = [
    (LINE, LineState, [LineState.GREETING, LineState.CALLING]),
    (TARGET, TargetState, [TargetState.WAITING]),
    (SESSION, SessionState, [SessionState.IDLE]),
]


@pytest.mark.parametrize(("table", "states", "first"), TABLES)
def test_every_state_has_a_row_and_can_be_reached(
    table: Table[Any], states: type[StrEnum], first: list[StrEnum]
) -> None:
    assert set(table) == set(states)
    reached, new = set(first), list(first)
    while new:
        for state in table[new.pop()].values():
            if state not in reached:
                reached.add(state)
                new.append(state)
    assert reached == set(states)


def test_what_cannot_happen_leads_nowhere() -> None:
    assert following(LINE, LineState.CLOSING, "Hello") is None
    assert following(LINE, LineState.GREETING, "Hello") is LineState.EXAMINING


@pytest.mark.parametrize("state", [one for one in SessionState if one != SessionState.CLOSING])
def test_a_session_can_be_closed_in_every_state_that_is_not_an_end(state: SessionState) -> None:
    has_ended = not SESSION[state]
    assert (following(SESSION, state, "close") is None) == has_ended
