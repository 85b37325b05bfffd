"""A client whose stream contradicts itself begins a new one, and says what may be missing."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from protocol.client.scripted import Broker, Play, gaps, got, notification, publish
from sapwood.filters.filter import Filter
from sapwood.protocol.client.outputs import Failed, Online, Unconfirmed
from sapwood.protocol.client.session import CONTRADICTED
from sapwood.protocol.link.handshake import (
    BUSY,
    CHECKS,
    CONTRADICTION,
    COUNT_MAX,
    PROTOCOL,
    Ack,
    Check,
    Goodbye,
)
from sapwood.protocol.link.states import SessionState
from sapwood.protocol.neighbours import REFRESH

PERIOD = 4.0


def play(broker: Broker, **config: Any) -> Play:
    return Play(broker, check_seconds=PERIOD, **config).open()


def checking_broker() -> Broker:
    return Broker(features=(CHECKS,))


def goodbye_codes(broker: Broker) -> list[str]:
    return [one.code for one in broker.heard if isinstance(one, Goodbye)]


def test_it_says_every_period_how_far_it_is() -> None:
    broker = checking_broker()
    scene = play(broker)
    publish(scene)
    scene.flush().wait(2 * PERIOD)
    checks = [one for one in broker.heard if isinstance(one, Check)]
    assert len(checks) in (1, 2)
    assert checks[-1].sent == 1
    assert broker.channel.disagreement(checks[-1]) is None
    assert sum(isinstance(one, Ack) for one in broker.heard) >= len(checks)


def test_it_looks_as_often_as_the_broker_compares() -> None:
    broker = Broker(features=(CHECKS, REFRESH), refresh=PERIOD / 4)
    play(broker).wait(PERIOD)
    assert sum(isinstance(one, Check) for one in broker.heard) >= 3


def test_a_broker_that_does_not_compare_is_left_alone() -> None:
    broker = Broker()
    play(broker).wait(3 * PERIOD)
    assert not any(isinstance(one, Check) for one in broker.heard)


def test_frames_that_did_not_come_end_the_stream() -> None:
    broker = checking_broker()
    scene = play(broker)
    inbox, _ = scene.session.subscribe(Filter("n >= 0"))
    scene.flush()
    broker.send(notification("p.1", 1, n=1))
    scene.flush()
    assert got(inbox) == [("p.1", 1)]
    broker.say(Check(broker.channel.sent + 1, 0))
    scene.flush()
    assert goodbye_codes(broker) == [CONTRADICTION]
    assert [one.received for one in broker.hellos[-1].resume] == [COUNT_MAX]
    assert [gap.reason for gap in gaps(inbox)] == [f"{CONTRADICTED}; now connected to B1"]
    assert scene.session.is_connected
    assert scene.session.counts == {CONTRADICTION: 1}
    broker.send(notification("p.1", 2, n=1))
    scene.flush()
    assert got(inbox)[-1] == ("p.1", 2)


def test_bytes_that_did_not_come_end_the_connection_only() -> None:
    broker = checking_broker()
    scene = play(broker)
    scene.outputs()
    broker.say(Check(0, 7))
    scene.flush()
    assert goodbye_codes(broker) == [PROTOCOL]
    assert scene.outputs(Online) == [Online("B1", is_resumed=True)]


def test_an_acknowledgement_of_what_was_never_sent() -> None:
    broker = checking_broker()
    scene = play(broker)
    broker.say(Ack(5, 2**20))
    scene.flush()
    assert goodbye_codes(broker) == [CONTRADICTION]


@pytest.mark.parametrize("field", ["sent", "acknowledged", "_sent_ever", "window"])
@pytest.mark.parametrize("value", [-1, 2**40, None, nan])
def test_a_count_that_makes_no_sense_ends_the_stream(field: str, value: Any) -> None:
    broker = checking_broker()
    scene = play(broker, raises_faults=False)
    setattr(scene.session.channel, field, value)
    scene.wait(PERIOD + 1.0)
    assert scene.session.is_connected
    assert scene.session.channel.is_sound
    publish(scene)
    scene.flush()
    assert broker.published[-1:] == [1]


def test_what_was_not_confirmed_is_told_and_what_was_not_handed_over_is_sent() -> None:
    broker = checking_broker()
    scene = play(broker)
    broker.acknowledges = False
    publish(scene)
    scene.flush().outputs()
    broker.say(Goodbye(CONTRADICTION))
    scene.flush()
    assert scene.outputs(Unconfirmed) == [Unconfirmed(1, 1)]
    assert broker.hellos[-1].resume[0].received == COUNT_MAX


def test_errors_in_a_row_lead_to_a_new_stream_and_then_to_an_end() -> None:
    broker = checking_broker()
    scene = play(broker)
    for expected in ([Online("B1", is_resumed=True)], [Online("B1")]):
        scene.outputs()
        broker.say(Goodbye(PROTOCOL, "garbage"))
        scene.flush()
        assert scene.outputs(Online) == expected
    broker.say(Goodbye(PROTOCOL, "garbage"))
    scene.flush()
    assert [one.code for one in scene.outputs(Failed)] == [PROTOCOL]
    assert scene.session.state is SessionState.FAILED


TIMES = ("_call_until", "_retry_at", "_look_at", "_acknowledge_at", "_check_at")


@pytest.mark.parametrize("time", [-1e12, 1e12, nan, inf])
@pytest.mark.parametrize("field", TIMES)
def test_no_time_stops_a_session(field: str, time: float) -> None:
    for is_connected in (True, False):
        broker = checking_broker()
        scene = play(broker)
        if not is_connected:
            broker.is_up = False
            scene.cut()
            scene.wait(0.3)
        setattr(scene.session, field, time)
        broker.is_up = True
        scene.wait(6.0)
        publish(scene)
        scene.flush().wait(1.0)
        assert scene.session.is_connected
        assert broker.published == [1]


def test_a_dead_broker_is_noticed_whatever_the_times_of_the_line() -> None:
    for time in (1e12, nan, inf):
        broker = checking_broker()
        scene = play(broker, silence_seconds=3.0)
        line = scene.session._line
        assert line is not None
        line.heard_at = line.wrote_at = time
        broker.is_deaf = True
        scene.wait(5.0)
        assert scene.session._line is not line


def test_in_tests_what_cannot_happen_is_raised() -> None:
    broker = checking_broker()
    scene = play(broker)
    scene.session.channel.spool.size = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        publish(scene)


def test_a_call_on_a_spoilt_stream_is_kept_for_the_next_one() -> None:
    broker = checking_broker()
    scene = play(broker, raises_faults=False)
    scene.session.channel.spool.control_size = None  # type: ignore[assignment]
    inbox, _ = scene.session.subscribe(Filter("n >= 0"))
    scene.wait(1.0)
    broker.send(notification("p.1", 1, n=1))
    scene.flush()
    assert got(inbox) == [("p.1", 1)]


def test_publishers_do_not_wait_for_ever_because_of_a_wrong_number() -> None:
    scene = play(checking_broker())
    scene.session.publishing._in_flight_bytes = 2**40
    assert scene.session.publishing.is_full
    scene.wait(1.0)
    assert not scene.session.publishing.is_full


def test_a_search_goes_on_whatever_time_is_stored_for_its_end() -> None:
    """Without a tick in between: a broker that still waits for the old stream refuses at once."""
    broker = checking_broker()
    scene = play(broker)
    broker.refusal = Goodbye(BUSY, "the session is in use here")
    scene.session._search.give_up_at = -1e12
    scene.cut().wait(1.0)
    broker.refusal = None
    scene.wait(5.0)
    assert scene.session.is_connected
    assert not any(isinstance(one, Failed) for one in scene.effects)
