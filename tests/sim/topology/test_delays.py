"""Delays of links: within their bounds, and refused where they have none."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.sim.topology import broker_names, chain, star
from sapwood.sim.topology.delays import (
    ConstantDelay,
    DelayModel,
    JitteredDelay,
    UnderlayDelay,
    UniformDelay,
    delay_bounds,
)
from sapwood.sim.topology.underlay import SMALL_UNDERLAY, draw_underlay, place_brokers

OVERLAY = place_brokers(draw_underlay(SMALL_UNDERLAY, Random(1)), broker_names(5), Random(1))
SECONDS = st.floats(0, 10)


def models() -> st.SearchStrategy[DelayModel]:
    simple: st.SearchStrategy[DelayModel] = st.one_of(
        st.builds(ConstantDelay, SECONDS),
        st.builds(lambda low, more: UniformDelay(low, low + more), SECONDS, SECONDS),
        st.builds(UnderlayDelay, st.just(OVERLAY), SECONDS),
    )
    return st.recursive(simple, lambda base: st.builds(JitteredDelay, base, SECONDS), max_leaves=3)


@given(models(), st.integers(0, 1000))
def test_every_delay_keeps_to_its_bounds(model: DelayModel, seed: int) -> None:
    link = model.link("B1", "B2")
    random = Random(seed)
    delays = [link.sample(random) for _ in range(50)]
    assert link.delay_min <= min(delays)
    assert max(delays) <= link.delay_max
    again = Random(seed)
    assert delays == [model.link("B2", "B1").sample(again) for _ in range(50)]


def test_a_uniform_delay_is_spread_over_its_range() -> None:
    link, random = UniformDelay(1, 3).link("B1", "B2"), Random(1)
    delays = sorted(link.sample(random) for _ in range(1000))
    assert [delays[100], delays[500], delays[900]] == pytest.approx([1.2, 2, 2.8], abs=0.1)


def test_an_underlay_gives_each_link_its_own_delay() -> None:
    model = UnderlayDelay(OVERLAY, processing_seconds=0.001)
    assert model.link("B1", "B2") == ConstantDelay(OVERLAY.delay("B1", "B2") + 0.001)
    assert model.link("B1", "B3") != model.link("B1", "B2")


def test_jitter_comes_on_top() -> None:
    link = JitteredDelay(ConstantDelay(0.5), 0.25).link("B1", "B2")
    assert (link.delay_min, link.delay_max) == (0.5, 0.75)
    assert link.sample(Random(1)) == 0.5 + 0.25 * Random(1).random()


def test_bounds_over_a_tree() -> None:
    delays = [OVERLAY.delay("B1", f"B{i}") for i in range(2, 6)]
    model = JitteredDelay(UnderlayDelay(OVERLAY, 0.0), 1.0)
    assert delay_bounds(model, star(5)) == (min(delays), max(delays) + 1.0)
    assert delay_bounds(UniformDelay(), chain(3)) == (0.001, 0.251)
    assert delay_bounds(UniformDelay(), chain(1)) == (0, 0)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ConstantDelay(-1), "delay: is -1; wanted a finite number, 0 or more"),
        (
            lambda: UniformDelay(0.2, float("inf")),
            "delay_max: is inf; wanted a finite number, 0 or more",
        ),
        (lambda: UniformDelay(0.2, 0.1), "delay_min: is 0.2, above delay_max, 0.1"),
        (
            lambda: JitteredDelay(ConstantDelay(), -0.1),
            "jitter: is -0.1; wanted a finite number, 0 or more",
        ),
        (
            lambda: UnderlayDelay(OVERLAY, float("nan")),
            "processing_seconds: is nan; wanted a finite number, 0 or more",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem
