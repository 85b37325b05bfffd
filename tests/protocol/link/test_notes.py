"""What a node tells its operator, and that it tells nothing where no log is kept."""

from __future__ import annotations

from protocol.joined import Network, hello_of, line_of
from sapwood.protocol.link.handshake import BAD_CREDENTIALS
from sapwood.protocol.ports import Note


def told(net: Network, name: str, event: str) -> list[tuple[str, dict[str, object]]]:
    """The notes of one kind, with their levels."""
    return [(one.level, one.fields) for one in net.asked(name, Note) if one.event == event]


def test_a_link_that_is_lost_and_back() -> None:
    net = line_of(2, noting=True)
    assert [fields["peer"] for _, fields in told(net, "B1", "link connected")] == ["B2"]
    net.cut("B1", "B2")
    net.advance(3.0)
    ((level, lost),) = told(net, "B1", "link lost")
    assert (level, lost["peer"]) == ("warning", "B2")
    assert lost["reason"]
    ((level, back),) = told(net, "B1", "link is back")
    assert (level, back["peer"]) == ("info", "B2")
    seconds = back["away_seconds"]
    assert isinstance(seconds, float)
    assert 0.0 <= seconds <= 3.0


def test_whoever_is_refused_is_named_with_the_reason() -> None:
    net = line_of(1, noting=True, token="secret")
    net.dial("B1").say(hello_of("c", credentials={"token": "wrong"}))
    net.run()
    ((level, fields),) = told(net, "B1", "refused")
    assert level == "warning"
    assert (fields["peer"], fields["role"], fields["code"]) == ("c", "client", BAD_CREDENTIALS)


def test_clients_are_for_those_who_look_closely() -> None:
    net = line_of(1, noting=True)
    client = net.client("c", "B1")
    assert [level for level, _ in told(net, "B1", "client connected")] == ["debug"]
    client.leave()
    assert [level for level, _ in told(net, "B1", "client lost")] == ["debug"]
    net.advance(net.nodes["B1"].config.client.grace_seconds + 1.0)
    assert [level for level, _ in told(net, "B1", "client gone")] == ["debug"]


def test_the_tree_is_told_of_when_it_changes() -> None:
    net = line_of(2, noting=True)
    net.advance(5.0)
    _, last = told(net, "B2", "tree")[-1]
    assert last == {"root": "B1", "parent": "B1", "neighbours": "B1"}


def test_what_was_missed_is_a_warning_without_a_trace() -> None:
    net = line_of(2, noting=True)
    net.crash("B1")
    net.add("B1", session=2, noting=True)
    net.advance(10.0)
    levels = [level for level, _ in told(net, "B2", "missed")]
    assert levels
    assert set(levels) == {"warning"}


def test_without_a_log_nothing_is_told() -> None:
    net = line_of(2)
    net.cut("B1", "B2")
    net.advance(3.0)
    assert net.asked("B1", Note) == []
