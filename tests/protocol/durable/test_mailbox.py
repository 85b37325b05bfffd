"""A durable subscription: positions, pages, what is on disk, and what was given up."""

from __future__ import annotations

from sapwood.protocol.durable.mailbox import Mailbox, ReadPage
from sapwood.protocol.durable.pages import Page, Place, PlacedRun
from sapwood.wire.frames import encode_head, encode_notification

FRAMES = [encode_notification(encode_head("c.1", {"x": 1}), number, 0.0) for number in range(1, 7)]


def filled(synced: int = 3) -> Mailbox:
    """Two notifications in each of three records, each record in a segment of its own."""
    mailbox = Mailbox("d", "x > 0", "", 5, 0.0)
    for at in range(3):
        data = b"".join(FRAMES[2 * at : 2 * at + 2])
        mailbox.append(2, data, float(at), Place(at + 1, 0, at + 1))
    mailbox.note_synced(synced)
    return mailbox


def test_only_what_is_on_disk_is_read() -> None:
    mailbox = filled(synced=0)
    assert mailbox.readable == 0
    assert mailbox.read(0, 10**6) is None
    mailbox.note_synced(2)
    assert mailbox.read(0, 10**6) == ReadPage(0, 4, b"".join(FRAMES[:4]))
    assert mailbox.readable == 4
    assert mailbox.read(4, 10**6) is None


def test_a_page_begins_anywhere_and_is_about_as_long_as_wanted() -> None:
    assert filled().read(3, 1) == ReadPage(3, 1, FRAMES[3])


def test_what_was_read_is_let_go() -> None:
    mailbox = filled()
    assert mailbox.commit(3)
    assert not mailbox.commit(2)
    assert (mailbox.first, mailbox.committed, mailbox.pages.needed) == (2, 3, 2)
    mailbox.commit(99)
    assert (mailbox.committed, mailbox.size, mailbox.pages.needed) == (6, 0, None)


def test_what_is_not_in_memory_is_to_be_read_back() -> None:
    mailbox = filled()
    mailbox.shrink(2 * len(FRAMES[0]))
    assert mailbox.read(5, 10**6) == ReadPage(5, 1, FRAMES[5]), "the last are here"
    page = mailbox.read(3, 10**6)
    assert isinstance(page, Page)
    assert (page.first, page.segment) == (2, 2)
    runs = [PlacedRun(2, 2, b"".join(FRAMES[2:4]))]
    assert mailbox.assembled(runs, 3, 10**6) == ReadPage(3, 1, FRAMES[3])


def test_nothing_is_read_back_that_is_not_on_disk() -> None:
    mailbox = filled(synced=1)
    mailbox.shrink(0)
    assert mailbox.read(2, 10**6) is None
    page = mailbox.read(0, 10**6)
    assert isinstance(page, Page)
    runs = [PlacedRun(number, 1, FRAMES[number]) for number in range(6)]
    assert mailbox.assembled(runs, 0, 10**6) == ReadPage(0, 2, b"".join(FRAMES[:2]))


def test_what_does_not_fit_or_is_too_old_is_given_up_and_shows() -> None:
    mailbox = filled()
    assert mailbox.give_up(len(b"".join(FRAMES[2:])), float("-inf")) == 2
    assert mailbox.give_up(10**6, 1.5) == 2
    page = mailbox.read(0, 10**6)
    assert isinstance(page, ReadPage)
    assert (page.first, page.count) == (4, 2), "those before are gone"
    assert mailbox.state(10.0).lost == 4


def test_a_page_in_the_middle_can_be_given_up() -> None:
    mailbox = filled()
    (_, page, _) = mailbox.pages
    mailbox.commit(3)
    assert mailbox.give_up_page(page) == 1, "the other one was read"
    assert mailbox.state(0.0).lost == 1


def test_a_checkpoint_has_its_positions() -> None:
    mailbox = filled()
    mailbox.commit(3)
    again = Mailbox.restored(mailbox.kept(), 2**20)
    assert (again.next, again.readable, again.committed, again.first) == (6, 6, 3, 6)


def test_what_cannot_be_kept_has_positions_all_the_same() -> None:
    mailbox = filled()
    mailbox.append(3, b"", 0.0, Place(4, 0, 4))
    mailbox.append(1, FRAMES[0], 0.0, Place(4, 50, 5))
    mailbox.note_synced(9)
    first = mailbox.read(0, 10**6)
    assert isinstance(first, ReadPage)
    assert (first.first, first.count) == (0, 6)
    behind = mailbox.read(6, 10**6)
    assert isinstance(behind, ReadPage)
    assert (behind.first, behind.count) == (9, 1)
    assert mailbox.lost == 3


def test_many_runs_are_read_and_let_go_in_turn() -> None:
    mailbox = Mailbox("d", "x > 0", "", 5, 0.0)
    for number in range(1000):
        mailbox.append(1, FRAMES[0], 0.0, Place(1, number, number))
    mailbox.note_synced(1000)
    for position in range(0, 1000, 7):
        page = mailbox.read(position, 7 * len(FRAMES[0]))
        assert isinstance(page, ReadPage)
        assert page.first == position
        mailbox.commit(position + page.count)
    assert mailbox.size == 0
