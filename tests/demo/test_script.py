"""What goes wrong in the demonstration, and when."""

from __future__ import annotations

import pytest

from sapwood.demo.script import Act, script


@pytest.mark.parametrize("brokers", [3, 8, 20])
def test_all_acts_come_in_order(brokers: int) -> None:
    scheduled = script(brokers)
    assert [one.act for one in scheduled] == list(Act)
    shares = [one.share for one in scheduled]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1


def test_two_brokers_are_offered_no_circle() -> None:
    assert Act.OFFER not in [one.act for one in script(2)]
