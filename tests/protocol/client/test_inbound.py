"""What a broker sends is handed to the part of the session that it is for, in its order."""

from __future__ import annotations

import pytest

from protocol.client.scripted import gaps, got, notification
from sapwood.errors import FrameError
from sapwood.filters.filter import Filter
from sapwood.protocol.client.deliveries import Deliveries, Gap, Inbox
from sapwood.protocol.client.inbound import Inbound
from sapwood.protocol.client.outputs import Answered, PublicationRefused, RequestRefused
from sapwood.protocol.client.publishing import Publishing
from sapwood.protocol.client.refreshing import Refreshing
from sapwood.protocol.client.requests import Requests
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Missed,
    Refused,
    Settled,
    Subscribe,
    Surveyed,
)
from sapwood.protocol.reconfigure.asking import (
    StepReport,
    TreeChangeEnded,
    TreeChangeProgress,
)
from sapwood.wire.frames import CONTROL, frame


class Session:
    """The parts of a session, with one subscription that asks whether it has settled."""

    def __init__(self) -> None:
        self.publishing = Publishing("c.1", 10**6)
        self.requests = Requests()
        self.deliveries = Deliveries()
        self.refreshing = Refreshing("c.1", self.requests)
        self.inbound = Inbound(self.publishing, self.requests, self.deliveries, self.refreshing)
        self.request = self.requests.open(Subscribe, "x = 1", settle=True)
        self.inbox = Inbox(self.request.name, Filter("x = 1"), 10, yields_gaps=True)
        self.deliveries.add(self.inbox)

    def take(self, *parts: Message | bytes) -> list[object]:
        outputs: list[object] = []
        data = [one if isinstance(one, bytes) else CODEC.encode(one) for one in parts]
        self.inbound.take(b"".join(data), outputs)
        return outputs


def test_answers_between_notifications_take_effect_where_they_are() -> None:
    session = Session()
    number = session.request.number
    first, second = notification("p.1", 1, x=1), notification("p.1", 2, x=1)
    missed = Missed(3, "B1-B2")
    outputs = session.take(first, missed, second, Settled(number, False, "B2 is away"))
    assert outputs == [Answered(number, settled=False, reason="B2 is away")]
    gap = Gap(3, "notifications were given up on the link B1-B2")
    assert got(session.inbox) == [("p.1", 1), ("p.1", 2)]
    assert session.inbox.items[1] == gap
    assert (session.inbox.settled, session.inbox.reason) == (False, "B2 is away")
    assert session.take(Settled(number, settled=True)) == []
    assert session.inbox.settled is True


def test_a_gap_is_told_only_where_it_can_concern() -> None:
    session = Session()
    session.take(Missed(3, "B1-B2", ("x = 2", "y = 1")))
    assert len(gaps(session.inbox)) == 1, "y = 1 and x = 1 may both hold"
    session.take(Missed(3, "B1-B3", ("x = 2", "x > 7")))
    assert len(session.inbox.gaps) == 1


def test_refusals_are_of_publications_or_requests() -> None:
    session = Session()
    request = session.requests.open(Advertise, "true", settle=True)
    assert session.take(Refused("no", sequence=4), Refused("many", request=request.number)) == [
        PublicationRefused(4, "no"),
        RequestRefused(request.number, "many"),
    ]
    assert session.publishing.refused == 1


def test_a_subscription_that_another_broker_refuses_is_told_so() -> None:
    """Who asked was answered long ago, and would wait for ever for what does not come."""
    session = Session()
    number = session.request.number
    session.take(Settled(number, settled=True))
    assert session.take(Refused("too many subscriptions", request=number)) == []
    assert gaps(session.inbox) == [
        Gap(0, "the broker refuses the subscription: too many subscriptions")
    ]
    assert (session.inbox.settled, session.inbox.reason) == (False, "too many subscriptions")


def test_a_survey_is_told_if_it_was_asked_for() -> None:
    session = Session()
    survey = session.requests.survey()
    answer = Surveyed(survey.request, ())
    assert session.take(answer, answer) == [answer]


def test_what_is_not_for_a_client_is_ignored() -> None:
    assert Session().take(Subscribe("1", "true")) == []


def test_what_came_before_something_that_does_not_decode_is_not_lost() -> None:
    session = Session()
    outputs: list[object] = []
    refused, broken = CODEC.encode(Refused("no", sequence=4)), frame(CONTROL, b"", b"\xc1")
    with pytest.raises(FrameError):
        session.inbound.take(notification("p.1", 1, x=1) + refused + broken, outputs)
    assert outputs == [PublicationRefused(4, "no")]
    assert got(session.inbox) == [("p.1", 1)]


def test_when_an_end_is_confirmed_what_comes_is_for_those_that_are_left() -> None:
    """Until then something may be under way that none of them wants."""
    session = Session()
    other = session.requests.open(Subscribe, "x = 2", settle=False)
    session.deliveries.add(Inbox(other.name, Filter("x = 2"), 10, yields_gaps=True))
    session.deliveries.remove(other.name)
    end = session.requests.end(other.name, settle=True)
    assert end is not None
    session.take(notification("p.1", 1, x=2), Settled(end.request, settled=True))
    assert got(session.inbox) == []
    assert session.deliveries._single is session.inbox


def test_a_short_frame_of_a_later_release_is_skipped() -> None:
    session = Session()
    short = frame(0x7F, b"", b"")
    assert session.take(short, notification("p.1", 1, x=1), short) == []
    assert got(session.inbox) == [("p.1", 1)]


def test_how_far_a_change_of_the_tree_is_is_told_until_it_has_ended() -> None:
    session = Session()
    number = session.requests.change("plan", (("A", "B"),)).request
    progress = TreeChangeProgress(number, 1, 2, StepReport("completed"))
    ended = TreeChangeEnded(number, "completed")
    strange = TreeChangeProgress(number + 1, 1, 2, StepReport("completed"))
    assert session.take(strange, progress, ended, progress, ended) == [progress, ended]
