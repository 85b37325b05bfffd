"""The streams of a session that brokers may keep, and the secrets that prove whose they are.

One of them goes on when the connection is lost. The others have ended here; but a broker that kept
one lets nobody take the place of the session who does not show the secret.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.search import Search
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import COUNT_MAX, MOVED, Goodbye, Hello, Resume, Welcome
from sapwood.protocol.neighbours import MOVES

LEFT_MAX: Final = 16
"""Brokers that were left and whose secrets are remembered."""


class Stream(msgspec.Struct, frozen=True, gc=False):
    """A stream with a session of a broker."""

    broker: str
    session: int
    secret: str = ""


def _is_stream(value: object) -> bool:
    if type(value) is not Stream:
        return False
    fields = (value.broker, value.session, value.secret)
    return tuple(map(type, fields)) == (str, int, str) and 0 <= value.session <= COUNT_MAX


class Streams:
    """All streams of one session."""

    def __init__(self) -> None:
        self.current: Stream | None = None
        """The one that goes on, if there is a connection to its broker again."""
        self.begun = 0
        """How many a broker may have begun, whether its welcome came or not: each hello may have.
        The broker that was told the highest number has the session now."""
        self.is_astray = False
        """Whether a broker may ever have begun one whose welcome was lost. It may have told others,
        and they remember it: so wherever the session goes on, that has to be told as well."""
        self._was_astray = False
        self._left: dict[str, Stream] = {}
        """Those that have ended here, by broker."""

    def hello(self, config: SessionConfig, channel: Channel, order: int) -> Hello:
        """What to say to a broker: who this is, and where its streams stand; it counts as asked.

        A broker refuses for good what it cannot read, so nothing is said that was spoilt here.
        """
        self.derive()
        hello = config.hello(
            credit=channel.window,
            resume=self.resumes(channel.received),
            order=order,
            streams=self.begun,
            is_astray=self.is_astray,
        )
        self.ask()
        return hello

    def derive(self) -> None:
        """Forget what cannot be right."""
        if not _is_stream(self.current):
            self.current = None
        if type(self.begun) is not int or not 0 <= self.begun <= COUNT_MAX:
            self.begun = 0
        self.is_astray, self._was_astray = bool(self.is_astray), bool(self._was_astray)
        if type(self._left) is not dict or not all(map(_is_stream, self._left.values())):
            self._left = {}

    def ask(self) -> None:
        """A hello was said: a broker may begin a stream."""
        self.begun += 1
        self._was_astray, self.is_astray = self.is_astray, True

    def answered(self) -> None:
        """The broker has answered: the last hello is not astray. Those before it may still be."""
        self.is_astray = self._was_astray

    def begin(self, welcome: Welcome) -> None:
        """Begin a stream with a broker; the one before has ended."""
        self.end()
        self.answered()
        self._left.pop(welcome.id, None)
        self.current = Stream(welcome.id, welcome.session, welcome.secret)

    def end(self) -> None:
        """End the current stream here; its broker may still keep it."""
        if self.current is not None:
            self._left.pop(self.current.broker, None)
            self._left[self.current.broker] = self.current
            if len(self._left) > LEFT_MAX:
                del self._left[next(iter(self._left))]
            self.current = None

    def renew(self, welcome: Welcome) -> None:
        """Go on with the current stream, perhaps at another broker.

        If the broker gave another secret, that one is shown from now on.
        """
        self.answered()
        if self.current is not None:
            secret = welcome.secret or self.current.secret
            self.current = Stream(welcome.id, welcome.session, secret)

    def is_current(self, welcome: Welcome) -> bool:
        """Whether a welcome is from the broker of the current stream, or from its successor.

        A broker that can take over a stream says so, and only goes on with one that was shown.
        """
        current = self.current
        if current is None:
            return False
        is_same = (current.broker, current.session) == (welcome.id, welcome.session)
        return is_same or (MOVES in welcome.features and current.broker != welcome.id)

    def follow(self, goodbye: Goodbye, search: Search) -> None:
        """If a broker says so, the current stream goes on at another one, perhaps in a moment only.

        Should the session go on elsewhere in the end, that broker has to hear of it.
        """
        if goodbye.code == MOVED and self.current is not None:
            self.is_astray = True
            search.follow(goodbye.addresses)

    def resumes(self, received: int) -> tuple[Resume, ...]:
        """What a hello says of the streams, with so many frames received of the current one.

        Those that have ended are shown with a count that none has, so that they are not resumed.
        """
        shown = [
            Resume(one.broker, one.session, COUNT_MAX, one.secret) for one in self._left.values()
        ]
        if self.current is not None:
            current = self.current
            shown.insert(0, Resume(current.broker, current.session, received, current.secret))
        return tuple(shown)
