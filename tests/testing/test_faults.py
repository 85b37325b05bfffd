"""Faults on request: what is changed, and what is refused."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.testing.faults import BROKER_ROM, spoil
from sapwood.testing.perturbing import walk
from testing.specimens import ROM, nodes


def test_only_the_fields_that_are_named_are_spoilt() -> None:
    node = next(nodes())
    done = spoil(node, {"fields": "RoutingTable._entries", "share": "1", "seed": "3"})
    assert done
    assert all("_entries" in line for line in done)


def test_the_same_seed_does_the_same() -> None:
    asked = {"share": "0.2", "seed": "7"}
    first, second = spoil(next(nodes()), asked), spoil(next(nodes()), asked)
    assert [line.split(":")[0] for line in first] == [line.split(":")[0] for line in second]
    assert first


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"share": "2"}, "share: is '2'; wanted a number from 0 to 1"),
        ({"share": "many"}, "share: is 'many'"),
        ({"seed": "-1"}, "seed: is '-1'"),
        ({"fields": "Nothing."}, "fields: is 'Nothing.', with which no field begins"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, str], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem.replace("(", r"\(")):
        spoil(next(nodes()), asked)


def test_what_is_set_from_outside_is_no_place() -> None:
    node = next(nodes())
    found = {place.field for place in walk(node.broker, BROKER_ROM)}
    assert not found & {"Broker.id", "Broker.config"}
    assert set(BROKER_ROM) <= set(ROM)
