"""The status as a value: it survives JSON, and older readers."""

from __future__ import annotations

import msgspec

from runtime.statuses import CLIENT, NEIGHBOUR, STATUS
from sapwood.runtime.admin.status import Status


def test_it_survives_json() -> None:
    status = msgspec.structs.replace(STATUS, neighbours=(NEIGHBOUR,), clients=(CLIENT,))
    text = msgspec.json.encode(status)
    assert msgspec.json.decode(text, type=Status) == status


def test_a_reader_passes_over_what_it_does_not_know() -> None:
    later = {**msgspec.to_builtins(STATUS), "mood": "fine"}
    assert msgspec.json.decode(msgspec.json.encode(later), type=Status) == STATUS


def test_streams_are_neighbours_and_clients() -> None:
    status = msgspec.structs.replace(STATUS, neighbours=(NEIGHBOUR,), clients=(CLIENT,))
    assert status.streams == (NEIGHBOUR, CLIENT)
