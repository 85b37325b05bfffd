"""What clients ask about durable subscriptions, over a whole node in virtual time."""

from __future__ import annotations

from protocol.durable.asking import Asker, World, sequences
from sapwood.protocol.durable.messages import MailboxAnswer
from sapwood.protocol.durable.settings import DurabilitySettings


def test_it_is_opened_read_committed_and_dropped() -> None:
    world = World()
    (state,) = world.answer("open", name="d", filter="x >= 1").mailboxes
    assert state.epoch > 0
    world.publish(4)
    page = world.answer("read", name="d", epoch=state.epoch)
    assert (page.first, sequences(page)) == (0, [2, 3, 4])
    again = world.answer("read", name="d", epoch=state.epoch, position=1)
    assert sequences(again) == [3, 4]
    (state,) = world.answer("commit", name="d", epoch=state.epoch, committed=2).mailboxes
    assert (state.committed, state.next) == (2, 3)
    assert [one.name for one in world.answer("list").mailboxes] == ["d"]
    world.answer("drop", name="d")
    assert world.answer("list").mailboxes == ()
    assert "has no durable subscription 'd'; open it first" in world.refusal("status", name="d")


def test_a_read_waits_for_what_is_not_there_yet_or_for_its_time() -> None:
    world = World()
    world.answer("open", name="d", filter="x >= 0")
    assert world.ask("read", name="d", wait=5.0) is None
    answers = world.client.__dict__["answers"]
    world.publish(1)
    assert [sequences(one) for one in answers] == [[1]]
    empty = world.ask("read", seconds=3.0, name="d", position=1, wait=2.0)
    assert isinstance(empty, MailboxAnswer)
    assert (empty.count, empty.data) == (0, b"")


def test_what_makes_no_sense_is_refused_with_the_remedy() -> None:
    world = World(mailboxes_max=1)
    assert "cannot name a durable" in world.refusal("open", name="a b", filter="true")
    assert "x >" in world.refusal("open", name="d", filter="x > and")
    world.answer("open", name="d", filter="x >= 0")
    assert "has another filter, x >= 0" in world.refusal("open", name="d", filter="x > 5")
    assert "no more are allowed" in world.refusal("open", name="e", filter="true")
    assert "of epoch 1 is gone" in world.refusal("read", name="d", epoch=1)


def test_what_does_not_fit_is_given_up_and_whoever_reads_is_told() -> None:
    world = World(mailbox_bytes=2**16)
    world.answer("open", name="d", filter="x >= 0")
    for _ in range(10):
        world.publish(100)
    page = world.answer("read", name="d")
    assert page.first > 0
    assert sequences(page)[0] == page.first + 1
    (state,) = page.mailboxes
    assert (state.lost, state.first) == (page.first, page.first)
    assert world.network.count("mailbox_given_up") == page.first


def test_one_that_nobody_uses_goes() -> None:
    world = World(unused_hours=0.01)
    world.answer("open", name="d", filter="x >= 0")
    world.network.driver.run(30.0)
    assert world.answer("list").mailboxes
    world.network.driver.run(60.0)
    assert not world.answer("list").mailboxes


def test_what_is_too_old_goes() -> None:
    world = World(mailbox_hours=0.01)
    world.answer("open", name="d", filter="x >= 0")
    world.publish(3)
    world.network.driver.run(60.0)
    (state,) = world.answer("status", name="d").mailboxes
    assert (state.first, state.next, state.lost) == (3, 3, 3)


def test_it_outlives_the_broker() -> None:
    world = World()
    (before,) = world.answer("open", name="d", filter="x >= 0").mailboxes
    world.publish(3)
    world.network.crash("B1")
    world.network.restart("B1")
    world.network.driver.run(5.0)
    page = world.answer("read", name="d", epoch=before.epoch)
    assert sequences(page) == [1, 2, 3]


def test_a_broker_without_a_journal_says_so() -> None:
    world = World()
    world.network.add_broker("B2", durability=DurabilitySettings())
    world.client = world.network.connect_as(Asker, "c2.1", "B2")
    world.network.driver.run(1.0)
    assert "broker B2 keeps no journal" in world.refusal("open", name="d", filter="x > 0")
