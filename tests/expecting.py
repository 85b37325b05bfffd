"""Assertions shared by the tests of the repository itself."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def expect_none(problems: Iterable[str]) -> None:
    """Fail with one line per problem, all of them shown."""
    if lines := list(problems):
        pytest.fail("\n".join(lines), pytrace=False)
