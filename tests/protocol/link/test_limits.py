"""Tests for what a link and a client may cost."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest

from sapwood.protocol.link.channel import ChannelLimits
from sapwood.protocol.link.limits import ClientLimits, LinkLimits


@pytest.mark.parametrize("kind", [LinkLimits, ClientLimits])
def test_the_limits_of_a_stream_are_taken_from_it(kind: type[LinkLimits | ClientLimits]) -> None:
    made = kind(buffer_bytes=2**17, control_bytes=2**18, window_bytes=2**12)
    expected = ChannelLimits(buffer_bytes=2**17, control_bytes=2**18, window_bytes=2**12)
    assert made.channel() == expected


@pytest.mark.parametrize("kind", [LinkLimits, ClientLimits])
def test_every_number_is_described(kind: type) -> None:
    for name, hint in get_type_hints(kind, include_extras=True).items():
        assert hint.__metadata__[0].description, name


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LinkLimits, {"buffer_bytes": 1000}),
        (LinkLimits, {"silence_seconds": 0.1}),
        (LinkLimits, {"retry_first_seconds": 0.0}),
        (LinkLimits, {"unheard_of": 1}),
        (ClientLimits, {"max_clients": -1}),
        (ClientLimits, {"slow_policy": "cry"}),
    ],
)
def test_what_cannot_be_is_refused(kind: type, values: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, kind)


def test_the_defaults_are_allowed() -> None:
    for made in (LinkLimits(), ClientLimits()):
        assert msgspec.convert(msgspec.to_builtins(made), type(made)) == made
