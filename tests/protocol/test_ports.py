"""Tests for the door between a driver and a node."""

from __future__ import annotations

import gc
from random import Random
from typing import get_args

import msgspec
import pytest

from sapwood.protocol import ports
from sapwood.protocol.events import ChangeRequested, Tick
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEffect,
    DriverEvent,
    DropMailbox,
    Fetched,
    Hint,
    Machine,
    Reload,
    SecretVerified,
    Stop,
    Synced,
    Unsent,
    Write,
)

EVENTS: list[DriverEvent] = [
    Connected(1),
    Data(1, b"x"),
    Disconnected(1),
    DialFailed(1, "no"),
    Unsent(1, 5),
    Tick(),
    SecretVerified(1, is_right=True),
    Reload(NodeConfig(id="B1")),
    Synced(1),
    Fetched(1, b""),
    DropMailbox("d1"),
    Stop(),
    ChangeRequested(1, ("A", "B"), ("A", "C")),
]


def test_events_and_effects_are_values() -> None:
    assert Write(1, b"x") == Write(1, b"x")
    with pytest.raises(AttributeError):
        Write(1, b"x").connection = 2  # type: ignore[misc]
    for kind in (*get_args(DriverEvent), *get_args(DriverEffect)):
        assert issubclass(kind, msgspec.Struct)
        assert kind.__doc__


@pytest.mark.parametrize("value", [*EVENTS, Write(1, b""), Abort(1), Dial(1, "")])
def test_it_is_a_value_that_the_collector_need_not_follow(value: object) -> None:
    assert not gc.is_tracked(value)


def test_every_event_and_effect_of_the_module_is_in_its_list() -> None:
    listed = {*get_args(DriverEvent), *get_args(DriverEffect)} - {Tick, ChangeRequested}
    found = {
        one
        for name, one in vars(ports).items()
        if isinstance(one, type)
        and issubclass(one, msgspec.Struct)
        and one.__module__ == ports.__name__
        and not name.startswith("_")
    }
    assert found - {Hint} == listed, "a hint is part of an effect"


def test_a_node_is_a_machine_that_takes_every_event() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(DriverEvent))
    machine: Machine = Node(NodeConfig(id="B1"), Random(1), str)
    machine.handle(Tick(), 0.0)
    for event in EVENTS:
        machine.handle(event, 0.0)
        assert 0.0 < machine.deadline <= TICK_SECONDS
