"""Requests find their ring and whoever begins, and are answered in any case."""

from __future__ import annotations

from protocol.reconfigure.rings import Ringed, ring
from protocol.wiring import line
from sapwood.protocol.effects import OpenLink, Record, Send
from sapwood.protocol.events import ChangeRequested
from sapwood.protocol.reconfigure.messages import ChangeEnded, Prepare
from sapwood.protocol.reconfigure.requests import ATTEMPTS_MAX, Asked


def test_any_broker_can_be_asked() -> None:
    for asker in ("B1", "B2", "B3", "B4", "B5"):
        brokers = ring(5)
        brokers.exchange(asker, ("B2", "B3"), ("B1", "B4"), request=7)
        brokers.run_ticks()
        assert brokers.ended(asker) == [
            ChangeEnded(
                asker,
                7,
                "completed",
                "",
                brokers.ended(asker)[0].change,
                ("B1", "B2", "B3", "B4"),
                ("B2", "B3"),
                12,
                0.0,
            )
        ]
        brokers.check()


def test_what_cannot_be_is_refused_before_anything_is_locked() -> None:
    brokers = ring(3)
    brokers.exchange("B2", ("B1", "B3"), ("B1", "B2"))
    brokers.run_ticks()
    (ended,) = brokers.ended("B2")
    reason = "there is no link B1-B3 to replace; B1 is linked to B2"
    assert (ended.outcome, ended.reason) == ("refused", reason)
    assert not brokers.messages()


def test_who_cannot_dial_asks_to_be_dialled() -> None:
    brokers = ring(4)
    for name in ("B1", "B4"):
        hidden = brokers.brokers[name]
        hidden.config = type(hidden.config)(
            id=name, addresses=("test://B1",) if name == "B1" else ()
        )
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    brokers.run_ticks()
    assert brokers.messages(Prepare) == {"Prepare": 3}
    assert brokers.opened == [("B4", "B1")]
    assert brokers.ended("B1")[0].outcome == "completed"


def test_a_link_that_does_not_come_ends_the_request() -> None:
    class Deaf(Ringed):
        def _do(self, name: str, effect: object) -> None:
            if not isinstance(effect, OpenLink):
                super()._do(name, effect)  # type: ignore[arg-type]

    brokers = Deaf(line(3))
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B3"))
    brokers.run_ticks()
    (ended,) = brokers.ended("B1")
    assert (ended.outcome, ended.reason) == ("refused", "no link to B3 in time")
    assert brokers.now >= 5.0


def test_a_refused_change_is_tried_again_and_then_given_up() -> None:
    brokers = ring(3)
    brokers.brokers["B2"].turning._refusal = lambda *_: "no"  # type: ignore[method-assign]
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B3"))
    brokers.run_ticks()
    (ended,) = brokers.ended("B1")
    assert (ended.outcome, ended.reason) == ("undone", "B2: no")
    assert brokers.brokers["B1"].changing.count == ATTEMPTS_MAX
    assert "B3" not in brokers.brokers["B1"].neighbours  # what was dialled for it is closed
    brokers.check()


def test_nobody_waits_for_an_answer_for_ever() -> None:
    brokers = ring(3)
    brokers.answers["B3"] = []
    brokers.handle("B3", ChangeRequested(1, ("B2", "B3"), ("B1", "B3")))
    for queue in brokers.queues.values():
        queue.clear()
    brokers.run_ticks()
    (ended,) = brokers.ended("B3")
    assert ended.outcome == "refused"


def test_each_broker_writes_a_row_about_a_change() -> None:
    brokers = ring(3, recording=True)
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B3"))
    brokers.run_ticks()
    rows = [
        (name, one.fields["message"])
        for name, one in brokers.rows
        if isinstance(one, Record) and one.kind == "reconfigured"
    ]
    assert sorted(name for name, _ in rows) == ["B1", "B2", "B3"]
    assert '"outcome":"completed","ring":"B1 B2 B3","old":"B2-B3","new":"B1-B3"' in rows[0][1]


def test_a_lost_answer_is_read_from_the_tree() -> None:
    class Forgetful(Ringed):
        def _do(self, name: str, effect: object) -> None:
            is_answer = isinstance(effect, Send) and isinstance(effect.message, ChangeEnded)
            if not is_answer or name == "B3":
                super()._do(name, effect)  # type: ignore[arg-type]

    brokers = Forgetful(line(3))
    brokers.exchange("B3", ("B2", "B3"), ("B1", "B3"))
    brokers.run_ticks()
    (ended,) = brokers.ended("B3")
    assert (ended.outcome, ended.reason) == (
        "completed",
        "no answer came, but the tree is as asked for",
    )
    assert brokers.now < 15.0


def test_requests_and_answers_wait_where_a_change_is_under_way() -> None:
    brokers = ring(4)
    brokers.candidate("B1", "B3")
    for effect in brokers.brokers["B1"].turning.start("B1.1/9", ("B1", "B2", "B3"), 2, 0.0):
        brokers._do("B1", effect)
    brokers.answers["B4"] = []
    changing = brokers.brokers["B1"].changing
    ended = ChangeEnded("B4", 5, "refused", "no", route=("B1", "B2", "B3", "B4"))
    brokers.brokers["B4"].changing.asked[5] = Asked(("B1", "B2"), ("B1", "B3"), "swap", 30.0, 30.0)
    assert changing.answer_asker(ended, 0.0) == []
    assert changing.deferred == [(ended, "")]
    brokers.run()
    assert changing.deferred == []
    assert [one.reason for one in brokers.ended("B4")] == ["no"]
