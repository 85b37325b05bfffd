"""A durable subscription: positions, pages, what is on disk, and what was given up."""

from __future__ import annotations

from sapwood.protocol.durable.mailbox import Mailbox
from sapwood.wire.frames import encode_head, encode_notification

FRAMES = [encode_notification(encode_head("c.1", {"x": 1}), number, 0.0) for number in range(1, 7)]


def filled() -> Mailbox:
    mailbox = Mailbox("d", "x > 0", "", 5, 0.0)
    for at in range(3):
        mailbox.append(2, b"".join(FRAMES[2 * at : 2 * at + 2]), float(at), at + 1)
    return mailbox


def test_only_what_is_on_disk_is_read() -> None:
    mailbox = filled()
    assert mailbox.readable(0) == 0
    assert mailbox.read(0, 10**6, 0) is None
    page = mailbox.read(0, 10**6, 2)
    assert page is not None
    assert (page.first, page.count, page.data) == (0, 4, b"".join(FRAMES[:4]))
    assert mailbox.readable(2) == 4
    assert mailbox.read(4, 10**6, 2) is None


def test_a_page_begins_anywhere_and_is_about_as_long_as_wanted() -> None:
    mailbox = filled()
    page = mailbox.read(3, 1, 3)
    assert page is not None
    assert (page.first, page.count, page.data) == (3, 1, FRAMES[3])


def test_what_was_read_is_let_go() -> None:
    mailbox = filled()
    assert mailbox.commit(3)
    assert not mailbox.commit(2)
    assert (mailbox.first, mailbox.committed, mailbox.needed) == (2, 3, 2)
    mailbox.commit(99)
    assert (mailbox.committed, mailbox.size, mailbox.needed) == (6, 0, None)


def test_what_does_not_fit_or_is_too_old_is_given_up_and_shows() -> None:
    mailbox = filled()
    assert mailbox.give_up(len(b"".join(FRAMES[2:])), float("-inf")) == 2
    assert mailbox.give_up(10**6, 1.5) == 2
    page = mailbox.read(0, 10**6, 3)
    assert page is not None
    assert (page.first, page.count) == (4, 2), "those before are gone"
    assert mailbox.state(3, 10.0).lost == 4


def test_it_comes_back_from_a_checkpoint() -> None:
    mailbox = filled()
    mailbox.commit(3)
    again = Mailbox.restored(mailbox.kept(is_whole=True))
    assert again.state(99, 1.0) == mailbox.state(99, 1.0)
    assert again.read(3, 10**6, 0) == mailbox.read(3, 10**6, 3)
    short = Mailbox.restored(mailbox.kept(is_whole=False))
    assert (short.next, short.committed, short.first) == (6, 3, 6)


def test_what_cannot_be_kept_has_positions_all_the_same() -> None:
    mailbox = filled()
    mailbox.leave_out(3)
    mailbox.append(1, FRAMES[0], 0.0, 4)
    first = mailbox.read(0, 10**6, 9)
    assert first is not None
    assert (first.first, first.count) == (0, 6)
    behind = mailbox.read(6, 10**6, 9)
    assert behind is not None
    assert (behind.first, behind.count) == (9, 1)
    assert mailbox.lost == 3


def test_many_runs_are_read_and_let_go_in_turn() -> None:
    mailbox = Mailbox("d", "x > 0", "", 5, 0.0)
    for number in range(1000):
        mailbox.append(1, FRAMES[0], 0.0, number)
    for position in range(0, 1000, 7):
        page = mailbox.read(position, 7 * len(FRAMES[0]), 1000)
        assert page is not None
        assert page.first == position
        mailbox.commit(position + page.count)
    assert mailbox.size == 0
