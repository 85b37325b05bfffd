"""Settings of all brokers of a network: some tree must have only links that all allow."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.config.together import check_together


def broker(name: str, *forbidden: tuple[str, str], pinned: tuple[str, ...] = ()) -> Settings:
    optimization = OptimizationSettings(forbidden=forbidden, pinned=pinned)
    return Settings(id=name, optimization=optimization)


def test_what_all_forbid_together_counts() -> None:
    """No broker forbids enough by itself to leave C alone."""
    allowed = [broker("A", ("A", "C")), broker("B"), broker("C", pinned=("A",))]
    check_together(allowed)
    with pytest.raises(ParameterError, match="C cannot be linked to the others"):
        check_together([broker("A", ("A", "C")), broker("B", ("C", "B")), broker("C")])


def test_names_are_those_of_brokers_and_each_is_one() -> None:
    with pytest.raises(ParameterError, match="A pins 'X', and there is no such broker"):
        check_together([broker("A", pinned=("X",)), broker("B")])
    with pytest.raises(ParameterError, match="several brokers are 'A'"):
        check_together([broker("A"), broker("A")])
