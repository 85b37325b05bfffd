"""What a client requested: sent once, repeated to another broker, answered once to who waits."""

from __future__ import annotations

import pytest

from sapwood.protocol.client.outputs import Answered, RequestRefused
from sapwood.protocol.client.requests import UNKNOWN, Requests
from sapwood.protocol.messages import (
    Advertise,
    Refused,
    Settled,
    Subscribe,
    Survey,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.asking import ChangeTree


def test_a_request_is_answered() -> None:
    requests = Requests()
    request = requests.open(Subscribe, "true", settle=True)
    assert request.message == Subscribe(request.name, "true", request.number)
    assert requests.is_waiting
    said = Settled(request.number, settled=False, reason="B2 is away")
    assert requests.answered(said) == (request, Answered(request.number, False, "B2 is away"))
    assert not requests.is_waiting


def test_a_request_may_be_made_without_waiting() -> None:
    requests = Requests()
    assert requests.open(Subscribe, "true", settle=False).number == 0
    assert not requests.is_waiting


def test_a_refusal_is_told_to_who_waits() -> None:
    requests = Requests()
    number = requests.open(Advertise, "true", settle=True).number
    assert requests.answered(Refused("too many", request=number))[1] == RequestRefused(
        number, "too many"
    )
    assert not requests.is_waiting


def test_another_broker_is_sent_what_is_in_force_and_answers_again() -> None:
    requests = Requests()
    kept = requests.open(Subscribe, "true", settle=True)
    requests.answered(Settled(kept.number, settled=True))
    advertised = requests.open(Advertise, "true", settle=True)
    gone = requests.open(Subscribe, "true", settle=False)
    end = requests.end(gone.name, settle=True)
    assert end is not None
    survey = requests.survey()
    assert requests.begin_anew() == (
        [kept.message, advertised.message, survey],
        [Answered(end.request, settled=True)],
    )
    assert [request.name for request in requests] == [kept.name, advertised.name]
    assert requests.answered(Settled(kept.number, settled=False)) == (kept, None)
    assert requests.answered(Settled(end.request, settled=True)) == (None, None)
    assert requests.is_waiting
    assert requests.surveyed(survey.request)
    assert not requests.surveyed(survey.request)
    requests.answered(Settled(advertised.number, settled=True))
    assert not requests.is_waiting


@pytest.mark.parametrize(("kind", "end"), [(Subscribe, Unsubscribe), (Advertise, Unadvertise)])
@pytest.mark.parametrize("settle", [False, True])
def test_a_request_is_ended(kind: type[Subscribe], end: type[Unsubscribe], settle: bool) -> None:
    requests = Requests()
    request = requests.open(kind, "true", settle=True)
    assert request.name in requests
    message = requests.end(request.name, settle=settle)
    assert message == end(request.name, 3 if settle else 0)
    assert request.name not in requests
    assert requests.is_waiting == settle
    assert requests.ends_subscription(3) == (settle and kind is Subscribe)
    assert requests.begin_anew()[0] == []
    assert requests.end(request.name, settle=settle) is None


def test_answers_to_nothing_are_ignored() -> None:
    requests = Requests()
    assert requests.answered(Settled(99, settled=True)) == (None, None)
    assert requests.answered(Refused("what?")) == (None, None)
    assert not requests.surveyed(99)
    assert Survey(1) == requests.survey()


def test_a_change_of_the_tree_is_not_asked_for_again() -> None:
    """Nobody knows how far it went: who waits is told so."""
    requests = Requests()
    change = requests.change("exchange", (("A", "B"), ("A", "C")))
    assert change == ChangeTree(1, "exchange", (("A", "B"), ("A", "C")))
    assert (requests.is_waiting, requests.changes(1)) == (True, True)
    assert requests.begin_anew() == ([], [RequestRefused(1, UNKNOWN)])
    assert (requests.is_waiting, requests.changed(1)) == (False, False)


def test_a_change_of_the_tree_may_be_refused_by_a_broker_that_knows_none() -> None:
    requests = Requests()
    number = requests.change("remove", broker="B3").request
    said = Refused("unknown message", request=number)
    assert requests.answered(said) == (None, RequestRefused(number, "unknown message"))
    assert not requests.is_waiting


def test_a_survey_may_be_refused() -> None:
    """Whoever waited would wait for ever: no other answer comes."""
    requests = Requests()
    number = requests.survey().request
    said = Refused("the survey did not come back in time; try again", request=number)
    assert requests.answered(Settled(number, settled=True)) == (None, None)
    assert requests.answered(said) == (None, RequestRefused(number, said.reason))
    assert requests.answered(said) == (None, None)
    assert not requests.is_waiting
    assert requests.begin_anew() == ([], [])
