"""The story of a notification has every row that matters, in the order of time."""

from __future__ import annotations

import pytest

from sapwood.errors import TraceError
from sapwood.filters import NotificationId
from sapwood.trace.judge.story import story
from tracing.making import Recorder


def a_run(run: str = "r") -> Recorder:
    trace = Recorder(run)
    trace.add(0, "advertised", client="bob.1", filter="x > 0")
    trace.settle(0.25, "bob.1", "x > 0", message="advertised")
    trace.add(0.5, "fault", message="long before")
    trace.subscribe(1, "ann.1", "x = 1", broker="B2")
    trace.subscribe(1, "dan.1", "x = 2", broker="B2")
    trace.settle(1.5, "ann.1", "x = 1", message="subscribed", broker="B2")
    trace.publish(5, "bob.1", 1, '{"x": 1}')
    trace.publish(5, "bob.1", 2, '{"x": 1}')
    trace.add(
        5.25, "forwarded", publisher="bob.1", sequence=1, source="bob.1", target="B2", message="p",
        extra={"entry": 7},
    )  # fmt: skip
    trace.add(5.5, "fault", broker="B3", message="link cut")
    trace.deliver(6, "ann.1", "bob.1", 1, broker="B2", source="B1", target="ann.1")
    trace.add(7, "dropped", publisher="bob.1", sequence=1, source="B2", message="duplicate")
    trace.unsubscribe(9, "ann.1", "x = 1", broker="B2")
    return trace


STORY = """\
Notification bob.1:1 in run 'r':
        0.000000  B1.1       #1        advertised   by bob.1 x > 0
        0.250000  B1.1       #2        settled      by bob.1 (advertised) x > 0
        1.000000  B2.1       #1        subscribed   by ann.1 x = 1
        1.500000  B2.1       #3        settled      by ann.1 (subscribed) x = 1
        5.000000  B1.1       #4        published    by bob.1 as its event 1 {"x": 1}
        5.250000  B1.1       #6        forwarded    from bob.1 to B2 (p) entry=7
        5.500000  B3.1       #1        fault        (link cut)
        6.000000  B2.1       #4        delivered    to ann.1 as its event 1 from B1
        7.000000  B1.1       #7        dropped      from B2 (duplicate)
        9.000000  B2.1       #5        unsubscribed by ann.1 x = 1"""


def test_the_whole_story() -> None:
    assert story(a_run().rows, "bob.1:1") == STORY
    assert story(reversed(a_run().rows), NotificationId("bob.1", 1)) == STORY


def test_the_story_for_one_client() -> None:
    told = story(a_run().rows, "bob.1:1", client="dan.1")
    assert "ann.1 x = 1" not in told
    assert "subscribed   by dan.1 x = 2" in told
    assert "delivered    to ann.1" in told


def test_each_run_by_itself() -> None:
    told = story([*a_run("s").rows, *a_run("r").rows], "bob.1:1")
    assert told == f"{STORY}\n\n{STORY.replace(chr(39) + 'r' + chr(39), chr(39) + 's' + chr(39))}"


def test_nothing_to_tell() -> None:
    told = story(a_run().rows, "bob.1:9")
    assert told == "The trace has no row about notification bob.1:9."


@pytest.mark.parametrize("wrong", ["bob.1", "bob.1:", ":1", "bob.1:x", ""])
def test_what_is_no_id(wrong: str) -> None:
    with pytest.raises(TraceError, match="is no notification id such as"):
        story([], wrong)
