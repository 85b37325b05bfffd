"""Bytes of swaps: what is counted is what brokers send."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.swap_bytes import EXPERIMENTS, swap_bytes, swap_entries
from sapwood.protocol.tree import Topology

COUNTED, RUN = EXPERIMENTS
CHAIN = Topology(("A", "B", "C", "D"), (("A", "B"), ("B", "C"), ("C", "D")))


def test_entries_of_a_swap_by_hand() -> None:
    """A leaves B for C: twice what A wants, what B wants, and what the others want of each."""
    wanted = {"A": {1, 2}, "B": {2}, "C": set[int](), "D": {3}}
    sets = {name: frozenset(one) for name, one in wanted.items()}
    assert swap_entries(CHAIN, sets, ("A", "B", "C")) == 2 * 2 + 1 + 2 + 3
    assert swap_bytes(0) == pytest.approx(244.4)


@pytest.mark.slow
def test_brokers_send_what_was_counted() -> None:
    one = dataclasses.replace(RUN, quick=RUN.quick._replace(points=RUN.quick.points[:2], runs=2))
    samples = samples_here(one)
    found = verdicts(RUN.judge(curves_of(samples, is_printed=False)))
    assert found["P3-F12b", "entries sent by brokers, as counted"] == HOLDS
    assert found["P3-F16", "messages of a removal for each client, between brokers"] == HOLDS
    spoilt = [
        one._replace(value=one.value + 1) if one[:2] == ("entries", "by brokers") else one
        for one in samples
    ]
    found = verdicts(RUN.judge(curves_of(spoilt, is_printed=False)))
    assert found["P3-F12b", "entries sent by brokers, as counted"] == DIFFERS
