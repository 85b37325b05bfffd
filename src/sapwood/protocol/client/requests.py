"""What a client has requested: subscriptions and advertisements in force, surveys, and answers.

Requests are kept as they were sent. When a broker is lost, the next one is sent all of them again,
under the same numbers; whoever still waits for an answer then gets that of the new one. Changes of
the tree are not asked for again: nobody knows how far they went.

Every broker answers in a stated time, or says no. Should an answer not come all the same, since
nobody can be reached or a broker has forgotten it, whoever waits is told so after `answer_seconds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from sapwood.protocol.client.outputs import Answered, RequestRefused
from sapwood.protocol.due import is_due, past
from sapwood.protocol.durable.messages import Mailbox
from sapwood.protocol.messages import (
    Advertise,
    Message,
    Refused,
    Settled,
    Subscribe,
    Survey,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.asking import ChangeTree, Wish

UNKNOWN: Final = (
    "the broker was lost while it changed the tree; what it had begun ends by itself: "
    "see how the tree is now"
)


ASK_AGAIN: Final = "the broker was lost before it answered; ask again"
"""Of a question about durable subscriptions."""


class OpenRequest:
    """One subscription or advertisement in force."""

    __slots__ = ("is_answered", "is_refused", "message")

    def __init__(self, message: Subscribe | Advertise) -> None:
        self.message = message
        self.is_answered = not message.request
        """Whether no first answer is outstanding."""
        self.is_refused = False
        """Whether the broker does not take it."""

    @property
    def name(self) -> str:
        """The name under which the broker knows it."""
        return self.message.id

    @property
    def number(self) -> int:
        """The number under which it is answered; zero if no answer is wanted."""
        return self.message.request


class Requests:
    """All requests of one session."""

    def __init__(self) -> None:
        self._last_number = 0
        self._open: dict[str, OpenRequest] = {}
        self._by_number: dict[int, OpenRequest] = {}
        self._unanswered: dict[int, None] = {}
        """Numbers of open requests without a first answer."""
        self._ends: dict[int, bool] = {}
        """Requests to end something that nobody has answered; True: a subscription."""
        self._surveys: dict[int, None] = {}
        self._changes: dict[int, None] = {}
        """Of the tree, that nobody has answered."""
        self._since: dict[int, float] = {}
        """Since when nothing was heard of requests that nobody has answered."""
        self._mailboxes: dict[int, None] = {}
        """Questions about durable subscriptions, which may wait as long as they say."""

    def __contains__(self, name: object) -> bool:
        """Whether a request is open under a name."""
        return name in self._open

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is outstanding."""
        return bool(self._unanswered or self._ends or self._surveys or self._changes)

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def open(
        self, kind: type[Subscribe] | type[Advertise], filter_text: str, *, settle: bool
    ) -> OpenRequest:
        """Open a request; with `settle` it is answered when everybody knows, or will not soon."""
        number = self._next_number() if settle else 0
        request = OpenRequest(kind(str(self._next_number()), filter_text, number))
        self._open[request.name] = request
        if settle:
            self._by_number[number] = request
            self._unanswered[number] = None
        return request

    def end(self, name: str, *, settle: bool) -> Unsubscribe | Unadvertise | None:
        """End an open request: the message that says so, or None if there is no such request."""
        request = self._open.pop(name, None)
        if request is None:
            return None
        self._by_number.pop(request.number, None)
        self._unanswered.pop(request.number, None)
        is_subscription = isinstance(request.message, Subscribe)
        number = 0
        if settle:
            number = self._next_number()
            self._ends[number] = is_subscription
        return Unsubscribe(name, number) if is_subscription else Unadvertise(name, number)

    def survey(self) -> Survey:
        """Ask what the network looks like."""
        number = self._next_number()
        self._surveys[number] = None
        return Survey(number)

    def mailbox(self, asked: Mailbox) -> Mailbox:
        """Ask something about durable subscriptions, under a number of its own."""
        number = self._next_number()
        self._mailboxes[number] = None
        return msgspec.structs.replace(asked, request=number)

    def mailbox_answered(self, number: int) -> bool:
        """Note that such a question was answered; whether it was asked."""
        return self._mailboxes.pop(number, self) is None

    def surveyed(self, number: int) -> bool:
        """Note that a survey was answered; whether it was asked for."""
        return self._surveys.pop(number, self) is None

    def change(
        self, wish: Wish, links: tuple[tuple[str, str], ...] = (), broker: str = ""
    ) -> ChangeTree:
        """Ask for a change of the tree."""
        number = self._next_number()
        self._changes[number] = None
        return ChangeTree(number, wish, links, broker)

    def goes_on(self, number: int) -> bool:
        """Note that a change of the tree goes on; whether it was asked for, and is not answered."""
        self._since.pop(number, None)
        return number in self._changes

    def changed(self, number: int) -> bool:
        """Note that a change of the tree was answered; whether it was asked for."""
        return self._changes.pop(number, self) is None

    def ends_subscription(self, number: int) -> bool:
        """Whether a request that nobody has answered is to end a subscription."""
        return self._ends.get(number, False)

    def answered(
        self, said: Settled | Refused
    ) -> tuple[OpenRequest | None, Answered | RequestRefused | None]:
        """Take the answer to a request: the request if it is open, and what to tell.

        An open request may be answered again after it was sent to another broker; who asked is
        told the first time only.
        """
        number = said.request
        request = self._by_number.get(number)
        if request is not None:
            request.is_refused = isinstance(said, Refused)
            is_news = not request.is_answered
            request.is_answered = True
            self._unanswered.pop(number, None)
        else:
            is_news = self._ends.pop(number, None) is not None or self.changed(number)
            if isinstance(said, Refused):  # of a survey, an answer is another message
                is_news = self.surveyed(number) or self.mailbox_answered(number) or is_news
        if not is_news:
            return request, None
        if isinstance(said, Refused):
            return request, RequestRefused(number, said.reason)
        return request, Answered(number, said.settled, said.reason)

    def begin_anew(self) -> tuple[list[Message], list[Answered | RequestRefused]]:
        """What a broker has to be sent that knows nothing, and what is answered by that.

        It never knew what has ended.
        """
        messages: list[Message] = []
        for request in self._open.values():
            request.is_refused = False
            messages.append(request.message)
        messages += (Survey(number) for number in self._surveys)
        ends, self._ends = self._ends, {}
        changes, self._changes = self._changes, {}
        answers: list[Answered | RequestRefused] = [Answered(one, settled=True) for one in ends]
        mailboxes, self._mailboxes = self._mailboxes, {}
        return messages, [
            *answers,
            *(RequestRefused(one, UNKNOWN) for one in changes),
            *(RequestRefused(one, ASK_AGAIN) for one in mailboxes),
        ]

    def overdue(self, now: float, patience: float) -> list[Answered | RequestRefused]:
        """What to tell those who have heard nothing for too long; they wait no longer.

        What is in force stays so, and its answer may still come.
        """
        if not self.is_waiting:
            return []
        told, asked = {*self._unanswered, *self._ends}, {*self._surveys, *self._changes}
        waiting = sorted(told | asked)
        self._since = {one: past(self._since.get(one, now), now) for one in waiting}
        late = [one for one, at in self._since.items() if is_due(at + patience, now, patience)]
        reason = f"no broker has answered within {patience:g} s"
        for number in late:
            self._forget(number)
        return [
            Answered(one, settled=False, reason=reason)
            if one in told
            else RequestRefused(one, f"{reason}; see how the tree is now")
            for one in late
        ]

    def _forget(self, number: int) -> None:
        """Wait no longer for the answer to a request."""
        for waiting in (self._unanswered, self._ends, self._surveys, self._changes):
            waiting.pop(number, None)
        if number in self._by_number:
            self._by_number[number].is_answered = True

    def in_force(self, *, subscriptions: bool) -> list[OpenRequest]:
        """The subscriptions, or the advertisements, that the broker is to hold."""
        return [
            one
            for one in self._open.values()
            if isinstance(one.message, Subscribe) is subscriptions and not one.is_refused
        ]

    def __iter__(self) -> Iterator[OpenRequest]:
        """The open requests, in the order in which they were made."""
        return iter(self._open.values())
