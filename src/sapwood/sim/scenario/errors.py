"""What is wrong with a scenario file, in words a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sapwood.errors import ParameterError, ScenarioError
from sapwood.file_errors import choices, joined, key_problem

__all__ = ["choices", "explained"]


def explained(
    problem: msgspec.ValidationError, values: Mapping[str, Any], struct: type
) -> ScenarioError:
    """What the conversion of `values` to a struct found, with the key first."""
    found = key_problem(problem, values, struct)
    cause = problem.__cause__
    if isinstance(cause, ScenarioError):
        return cause
    if isinstance(cause, ParameterError):
        place = str(problem).partition(" - at `$")[2].rstrip("`").lstrip(".")
        return ScenarioError(cause.problem, joined(place, cause.parameter))
    return ScenarioError(found.problem, found.key)
