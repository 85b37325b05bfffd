"""Tests for the tables of states: nothing leads out of them, and everything can be reached."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sapwood.protocol.link.states import (
    LINE,
    SESSION,
    TARGET,
    LineState,
    SessionState,
    TargetState,
    following,
)

TABLES = [
    pytest.param(LINE, LineState, {LineState.GREETING, LineState.CALLING}, id="line"),
    pytest.param(TARGET, TargetState, {TargetState.WAITING}, id="target"),
    pytest.param(SESSION, SessionState, {SessionState.IDLE}, id="session"),
]


@pytest.mark.parametrize(("table", "states", "first"), TABLES)
def test_every_state_has_its_row_and_can_be_reached(
    table: Mapping[str, Mapping[str, str]], states: type, first: set[str]
) -> None:
    assert set(table) == set(states)  # type: ignore[call-overload]
    reached, todo = set(first), list(first)
    while todo:
        for state in table[todo.pop()].values():
            if state not in reached:
                reached.add(state)
                todo.append(state)
    assert reached == set(table)


@pytest.mark.parametrize(("table", "states", "first"), TABLES)
def test_every_state_can_end(
    table: Mapping[str, Mapping[str, str]], states: type, first: set[str]
) -> None:
    """From each there is a way to one that nothing leads out of."""
    ends = {state for state, row in table.items() if not row}
    grown = True
    while grown:
        more = {state for state, row in table.items() if ends & set(row.values())} - ends
        ends |= more
        grown = bool(more)
    assert ends == set(table)


def test_what_cannot_happen_leads_nowhere() -> None:
    assert following(LINE, LineState.GREETING, "Hello") is LineState.EXAMINING
    assert following(LINE, LineState.GREETING, "Welcome") is None
    assert following(LINE, LineState.CLOSING, "end") is None
    assert following(TARGET, TargetState.GIVEN_UP, "due") is None
