"""The published ways by name: each keeps what it promises, and time-outs follow the ring."""

from __future__ import annotations

import pytest

from protocol.reconfigure.published.rings import INNER, SHARED_RIGHT, rings
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.sim.reconfiguring.setups import JobSetup
from sapwood.trace.judge.verdict import VIOLATIONS


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_promises_are_kept(name: str) -> None:
    method = PUBLISHED[name]
    assert set(method.promises) <= set(VIOLATIONS)
    for setting in rings((*INNER, *SHARED_RIGHT), 2):
        if method.timeout is None and (method.ring_max or 99) >= setting.changes[0].n:
            verdict = method(setting).verdict
            assert not [kind for kind in method.promises if getattr(verdict, kind)]


@pytest.mark.slow
def test_a_longer_time_out_loses_less_and_repeats_more() -> None:
    settings = [JobSetup().setting(5, seed) for seed in range(3)]
    lost, duplicated = [], []
    for name in ("strawman", "deferred", "deferred-long"):
        verdicts = [PUBLISHED[name](setting).verdict for setting in settings]
        lost.append(sum(one.lost for one in verdicts))
        duplicated.append(sum(one.duplicated for one in verdicts))
    assert lost[0] > lost[1] > lost[2] == 0
    assert duplicated[0] < duplicated[1] < duplicated[2]
