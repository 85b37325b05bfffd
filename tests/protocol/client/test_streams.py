"""A session shows the secrets of its streams, also of those that it has left."""

from __future__ import annotations

from sapwood.protocol.client.streams import LEFT_MAX, Stream, Streams
from sapwood.protocol.link.handshake import COUNT_MAX, Resume, Welcome


def welcome(broker: str, session: int = 1, secret: str = "") -> Welcome:
    return Welcome(id=broker, session=session, version=1, secret=secret)


def test_the_current_stream_is_resumed_and_others_are_not() -> None:
    streams = Streams()
    assert streams.resumes(5) == ()
    streams.begin(welcome("B1", 3, "one"))
    assert streams.resumes(5) == (Resume("B1", 3, 5, "one"),)
    streams.begin(welcome("B2", 4, "two"))
    assert streams.resumes(6) == (Resume("B2", 4, 6, "two"), Resume("B1", 3, COUNT_MAX, "one"))
    streams.begin(welcome("B1", 3, "three"))
    assert streams.resumes(0) == (Resume("B1", 3, 0, "three"), Resume("B2", 4, COUNT_MAX, "two"))
    streams.end()
    streams.end()
    assert streams.resumes(7)[-1] == Resume("B1", 3, COUNT_MAX, "three")


def test_a_secret_may_be_renewed() -> None:
    streams = Streams()
    streams.renew(welcome("B1", 3, "for nothing"))
    streams.begin(welcome("B1", 3, "one"))
    streams.renew(welcome("B1", 3, ""))
    assert streams.current == Stream("B1", 3, "one")
    streams.renew(welcome("B1", 3, "two"))
    assert streams.current == Stream("B1", 3, "two")


def test_it_is_known_whose_the_current_stream_is() -> None:
    streams = Streams()
    assert not streams.is_current(welcome("B1"))
    streams.begin(welcome("B1", 3))
    found = [streams.is_current(welcome(*one)) for one in (("B1", 3), ("B1", 4), ("B2", 3))]
    assert found == [True, False, False]


def test_what_is_remembered_is_bounded() -> None:
    streams = Streams()
    for number in range(2 * LEFT_MAX):
        streams.begin(welcome(f"B{number}"))
    shown = [one.broker for one in streams.resumes(0)]
    assert len(shown) == LEFT_MAX + 1
    assert shown[0] == f"B{2 * LEFT_MAX - 1}"
    assert shown[-1] == f"B{2 * LEFT_MAX - 2}"


def test_a_hello_without_an_answer_is_never_forgotten() -> None:
    """A broker may have begun a stream and told others: they remember it for ever."""
    streams = Streams()
    streams.ask()
    streams.begin(welcome("B1"))
    assert (streams.begun, streams.is_astray) == (1, False)
    streams.ask()
    streams.answered()  # refused
    assert (streams.begun, streams.is_astray) == (2, False)
    streams.ask()
    streams.renew(welcome("B1"))  # resumed
    assert not streams.is_astray
    streams.ask()
    streams.ask()
    streams.begin(welcome("B1", 2))
    assert (streams.begun, streams.is_astray) == (5, True)
    streams.ask()
    streams.renew(welcome("B1", 2))
    assert streams.is_astray
