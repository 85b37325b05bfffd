"""The schemes by name."""

from __future__ import annotations

from protocol.stabilize.published.publishing import new_broker
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.routing.algorithms import ALGORITHMS


def test_every_scheme_makes_a_broker_and_belongs_to_an_algorithm() -> None:
    for name, scheme in SCHEMES.items():
        assert not scheme.algorithm or scheme.algorithm in ALGORITHMS
        assert new_broker(name).published.settings.scheme == name


def test_every_algorithm_has_a_lease() -> None:
    assert {one.algorithm for one in SCHEMES.values() if one.algorithm} == set(ALGORITHMS)


def test_what_has_a_printed_form_that_fails_has_it_beside_it() -> None:
    printed = [name for name in SCHEMES if name.endswith("-printed")]
    assert len(printed) == 5
    for name in printed:
        assert SCHEMES[name].bound is SCHEMES[name.removesuffix("-printed")].bound
