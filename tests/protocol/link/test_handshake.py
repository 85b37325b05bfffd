"""Tests for what the two ends of a connection say to each other."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    COUNT_MAX,
    FEATURES,
    LINK_CODEC,
    NO_COMMON_VERSION,
    VERSIONS,
    WRONG_NETWORK,
    WRONG_ROUTING,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Resume,
    Welcome,
    algorithm_of,
    common_features,
    common_version,
    refusal,
    said_routing,
)
from sapwood.protocol.messages import CODEC, Settled, Subscribe
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.wire.frames import (
    CONTROL,
    LINK,
    decode_envelope,
    decode_head,
    frame,
    split,
)

TRANSCRIPT = Path(__file__).parent / "transcript_version_1.txt"

HEX = re.compile("([0-9a-f]{2})+")

counts = st.integers(0, COUNT_MAX)
sessions = st.integers(1, COUNT_MAX)
names = st.text(max_size=20)
texts = st.tuples(names) | st.just(())
resumes = st.builds(Resume, names, sessions, counts)
hellos = st.builds(
    Hello,
    role=names,
    network=names,
    id=names,
    session=sessions,
    versions=st.tuples(st.integers(0, 99), st.integers(0, 99)),
    features=texts,
    addresses=texts,
    credentials=st.dictionaries(names, names, max_size=2),
    routing=names,
    resume=st.tuples(resumes) | st.just(()),
    expected=texts,
    former=counts,
    credit=counts,
    silence=st.floats(0, 86_400),
    slow_policy=names,
    order=counts,
    streams=counts,
    is_astray=st.booleans(),
    durable=names,
)
welcomes = st.builds(
    Welcome,
    id=names,
    session=sessions,
    version=st.integers(0, 99),
    features=texts,
    addresses=texts,
    resumed=st.none() | counts,
    credit=counts,
    silence=st.floats(0, 86_400),
    in_tree=st.booleans(),
    advertisements_required=st.booleans(),
    is_expected=st.booleans(),
    former=counts,
)
messages: st.SearchStrategy[LinkMessage] = st.one_of(
    hellos,
    welcomes,
    st.builds(Goodbye, names, names, names),
    st.builds(Ack, counts, counts),
    st.builds(GivenUp, counts),
    st.builds(Ping, counts),
    st.builds(Pong, counts),
)


def hello(**changes: Any) -> Hello:
    usual: dict[str, Any] = {"role": "broker", "network": "n", "id": "B2", "session": 1}
    return Hello(**{**usual, "routing": "covering", **changes})


def refused(of: Hello, token: str = "") -> Goodbye | None:
    return refusal(of, network="n", token=token, routing="covering")


@given(messages)
def test_what_is_said_is_understood(message: LinkMessage) -> None:
    [(kind, head, body)] = split(LINK_CODEC.encode(message))
    assert (kind, head) == (LINK, b"")
    assert LINK_CODEC.decode(body) == message


@given(messages, st.dictionaries(st.text(min_size=20, max_size=30), st.booleans(), max_size=3))
def test_fields_of_a_later_release_are_ignored(
    message: LinkMessage, added: dict[str, bool]
) -> None:
    _, _, body = next(split(LINK_CODEC.encode(message)))
    later = {**msgspec.msgpack.decode(body), **added}
    assert LINK_CODEC.decode(msgspec.msgpack.encode(later)) == message


@given(st.binary(max_size=60))
def test_garbage_is_an_error_and_nothing_else(body: bytes) -> None:
    with suppress(FrameError):
        LINK_CODEC.decode(body)


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "Ack", "received": -1, "credit": 0},
        {"type": "Ack", "received": 2**63, "credit": 0},
        {"type": "Hello", "role": "client", "network": "n", "id": "a", "session": 0},
        {"type": "Hello", "role": "client", "network": "n", "id": "a" * 1025, "session": 1},
        {"type": "Welcome", "id": "a", "session": 1, "version": 1, "silence": float("nan")},
        {"type": "Welcome", "id": "a", "session": 1, "version": 1, "silence": -1.0},
        {"type": "Nothing"},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        LINK_CODEC.decode(msgspec.msgpack.encode(wrong))


def test_a_hello_always_tells_its_versions() -> None:
    """A default would mean something else in a later release."""
    assert b"versions" in LINK_CODEC.encode(hello())


# Versions


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_the_newest_common_version_is_taken(a: int, b: int, c: int, d: int) -> None:
    both = set(range(a, b + 1)) & set(range(c, d + 1))
    assert common_version((a, b), (c, d)) == (max(both) if both else None)


def test_no_common_version_is_refused_with_both_ranges() -> None:
    newer = (VERSIONS[1] + 1, VERSIONS[1] + 3)
    goodbye = refused(hello(versions=newer))
    assert goodbye is not None
    assert goodbye.code == NO_COMMON_VERSION
    assert goodbye.reason == (
        "no common protocol version: you speak 2-4, this broker 1-1; upgrade the older of the two"
    )
    assert refused(hello(versions=(0, VERSIONS[0]))) is None


def test_only_features_that_both_have_are_used() -> None:
    assert common_features(("unheard-of", *FEATURES)) == FEATURES


# Refusals


def test_who_may_come_in() -> None:
    assert refused(hello()) is None
    assert refused(hello(routing="simple")) is None  # algorithms differ from edge to edge
    assert refused(hello(role="client", routing="")) is None
    assert refused(hello(credentials={"token": "secret"}), token="secret") is None


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"network": "m"}, WRONG_NETWORK, "'n', not 'm'"),
        ({"credentials": {"token": "secrez"}}, BAD_CREDENTIALS, "token is missing or wrong"),
        ({}, BAD_CREDENTIALS, "token is missing or wrong"),
        (
            {"credentials": {"token": "secret"}, "routing": "flooding"},
            WRONG_ROUTING,
            "--routing covering",
        ),
        (
            {"credentials": {"token": "secret"}, "routing": "hierarchical/magic"},
            WRONG_ROUTING,
            "no routing 'hierarchical/magic'",
        ),
    ],
)
def test_who_may_not(changes: dict[str, Any], code: str, words: str) -> None:
    goodbye = refused(hello(**changes), token="secret")
    assert goodbye is not None
    assert goodbye.code == code
    assert words in goodbye.reason


# The transcript


def transcript() -> list[tuple[str, bytes]]:
    lines = TRANSCRIPT.read_text().splitlines()
    return [(line[0], bytes.fromhex(line[2:])) for line in lines if line[0] in "<>"]


def test_version_1_is_understood_for_ever() -> None:
    said: list[object] = []
    for _, data in transcript():
        [(kind, head, body)] = split(data)
        if kind == LINK:
            said.append(LINK_CODEC.decode(body))
        elif kind == CONTROL:
            said.append(CODEC.decode(body))
        else:
            said.append((decode_head(head), decode_envelope(body)))
    notification = (
        ("alice.7", {"price": 120.5, "symbol": "IBM"}),
        (1, 1700000000.0, 0.0, 0, b"hi"),
    )
    assert said == [
        Hello(
            role="client",
            network="sapwood",
            id="alice",
            session=7,
            versions=(1, 1),
            credit=2**20,
            silence=30.0,
        ),
        Welcome(id="B1", session=42, version=1, credit=2**18, silence=30.0),
        Subscribe("1", "price > 100", 2),
        Settled(2, settled=True),
        notification,
        notification,
        Ack(2, 2**18 + 70),
        Ack(2, 2**20 + 70),
        Ping(1),
        Pong(1),
        Goodbye("leaving"),
    ]


def test_a_message_between_two_frames_is_not_part_of_them() -> None:
    data = frame(CONTROL, b"", b"x") + LINK_CODEC.encode(Ping(3)) + frame(CONTROL, b"", b"y")
    assert [kind for kind, _, _ in split(data)] == [CONTROL, LINK, CONTROL]


def test_the_reference_shows_the_same_bytes() -> None:
    """Its comments stand behind the bytes of a line."""
    page = Path(__file__).parents[3] / "docs" / "reference" / "protocol.md"
    example = page.read_text().split("## An example")[1].split("```")[1]
    said: list[tuple[str, bytes]] = []
    for line in example.splitlines()[1:]:
        direction, words = line[0], line[1:].split()
        data = b"".join(map(bytes.fromhex, takewhile(HEX.fullmatch, words)))
        if direction == " ":
            direction, before = said.pop()
            data = before + data
        said.append((direction, data))
    assert said == transcript()


def test_hierarchical_routing_is_a_word_that_older_releases_refuse() -> None:
    said = said_routing("covering", is_hierarchical=True)
    assert said not in ALGORITHMS
    assert algorithm_of(said) == algorithm_of("covering") == "covering"
    assert said_routing("covering", is_hierarchical=False) == "covering"
    welcome = hello(credentials={"token": "secret"}, routing=said)
    assert refused(welcome, token="secret") is None
