"""Gaps of one reason are told of once."""

from __future__ import annotations

from sapwood.demo.gaps import GapNews
from sapwood.demo.workload import Subscriber
from sapwood.runtime.client import Gap


def test_gaps_are_put_together_by_reason() -> None:
    said: list[str] = []
    news = GapNews(said.append)
    for number, broker in enumerate(("B1", "B2", "B2")):
        news.add(Subscriber(f"s-{number}", broker, "true"), Gap(0, "lost"))
    news.add(Subscriber("s-9", "B8", "true"), Gap(0, "restarted"))
    news.tell()
    news.tell()
    assert said == [
        "GAP   reported to 3 subscribers of 2 brokers: lost",
        "GAP   reported to 1 subscriber of B8: restarted",
    ]
    assert news.count == 4
