"""Study files: a scenario, the parameters that vary, and what to make of the results, in TOML.

Closed like scenario files: an unknown key, an impossible value, a parameter that no scenario has is
an error that names the file, the key and what would be right. Every point of the sweep is checked
when the file is read, not in the middle of a night. The keys are in docs/reference/studies.md.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from sapwood.errors import ScenarioError, StudyError
from sapwood.file_errors import text_of
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.sim.scenario.errors import choices, explained

POINTS_MAX = 10_000
"""Of parameters × values; a slip of the pen soon gives millions."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A picture: one measure against one parameter, a line for each value of another."""

    name: str
    x: str
    y: str
    lines: str | None = None
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False


class Proportion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that goes with a parameter."""

    to: str
    factor: float = 1.0


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is varied, how often each point is run, and what is measured."""

    name: str
    seed: int = 1
    """From which the seeds of all runs are derived."""
    repeats: int = 10
    """How many runs each point gets, each with a seed of its own."""
    check: bool = True
    """Whether what was delivered is judged; without it, runs are several times as fast."""
    measure_from: float = 0.0
    """Seconds after which the `measured_…` counts begin."""
    scenario: dict[str, Any]
    """What all runs share, as in a scenario file."""
    parameters: dict[str, list[Any]] = {}
    """What varies: a key of the scenario, with dots, and its values."""
    proportional: dict[str, Proportion] = {}
    """What varies along with a parameter: a key of the scenario, and which parameter it follows."""
    measures: dict[str, str] = {}
    """What is averaged, by name: SQL over the columns of a run."""
    figures: list[Figure] = []

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise StudyError(
                f"is {self.name!r}; wanted letters, digits, - and _, beginning with one of the "
                "first two: folders are named after it",
                "name",
            )
        _check_at_least("repeats", self.repeats, 1)
        _check_at_least("seed", self.seed, 0)
        _check_at_least("measure_from", self.measure_from, 0)
        _check_parameters(self.parameters, self.scenario)
        self._check_proportions()
        for name in self.measures:
            if not name.isidentifier():
                raise StudyError("is no name; wanted letters, digits and _", f"measures.{name}")
        self._check_figures()

    def _check_proportions(self) -> None:
        for key, proportion in self.proportional.items():
            where = f"proportional.{key!r}"
            if key in self.parameters:
                raise StudyError("is a parameter already", where)
            if proportion.to not in self.parameters:
                known = choices(proportion.to, self.parameters)
                raise StudyError(f"is {proportion.to!r}, no parameter; {known}", f"{where}.to")
            if not all(type(value) in {int, float} for value in self.parameters[proportion.to]):
                raise StudyError(
                    f"is {proportion.to!r}, whose values are not all numbers", f"{where}.to"
                )

    def _check_figures(self) -> None:
        for number, figure in enumerate(self.figures):
            key = f"figures[{number}]"
            if not _NAME.fullmatch(figure.name):
                raise StudyError(f"is {figure.name!r}; files are named after it", f"{key}.name")
            for field, wanted in (("x", figure.x), ("lines", figure.lines)):
                if wanted is not None and wanted not in self.parameters:
                    known = choices(wanted, self.parameters)
                    raise StudyError(f"is {wanted!r}, no parameter; {known}", f"{key}.{field}")
            if figure.y not in self.measures:
                known = choices(figure.y, self.measures)
                raise StudyError(f"is {figure.y!r}, no measure; {known}", f"{key}.y")

    def points(self) -> Iterator[dict[str, Any]]:
        """Every combination of the parameters' values, in the order of the file."""
        for values in product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))

    def mapping(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario at a point, as its file would say it."""
        values = copy.deepcopy(self.scenario)
        along = {
            key: proportion.factor * point[proportion.to]
            for key, proportion in self.proportional.items()
            if proportion.to in point
        }
        for key, value in {**point, **along}.items():
            *sections, last = key.split(".")
            section = values
            for name in sections:
                section = section.setdefault(name, {})
            section[last] = value
        return {**values, "name": self.name}


def _check_at_least(key: str, value: float, lowest: float) -> None:
    if not lowest <= value < float("inf"):
        raise StudyError(f"is {value}; wanted {lowest} or more", key)


def _check_parameters(parameters: Mapping[str, list[Any]], scenario: Mapping[str, Any]) -> None:
    count = 1
    for key, values in parameters.items():
        where = f"parameters.{key!r}"
        if not values:
            raise StudyError("has no values", where)
        twice = [value for index, value in enumerate(values) if value in values[:index]]
        if twice:
            raise StudyError(f"has {twice[0]!r} twice", where)
        if key in {"name", "seed"}:
            raise StudyError("is not to be varied: a study gives names and seeds itself", where)
        above = scenario
        for name in key.split(".")[:-1]:
            above = above.get(name, {})
            if not isinstance(above, Mapping):
                raise StudyError(f"leads through {name}, which is no section", where)
        count *= len(values)
    if count > POINTS_MAX:
        raise StudyError(f"make {count:,} points; at most {POINTS_MAX:,} wanted", "parameters")
    for name in ("name", "seed"):
        if name in scenario:
            raise StudyError("is the study's to give; say it at the top", f"scenario.{name}")


def load(path: Path) -> Study:
    """Read a study file, and check every point of it."""
    return parse(text_of(path, StudyError), str(path))


def parse(text: str, file: str = "study") -> Study:
    """A study from its text; `file` is named in errors."""
    try:
        study = _converted(tomllib.loads(text))
        check_points(study)
    except tomllib.TOMLDecodeError as problem:
        raise StudyError(f"is not TOML: {problem}", file=file) from None
    except StudyError as problem:
        raise problem.in_file(file) from None
    return study


def _converted(values: Mapping[str, Any]) -> Study:
    try:
        return msgspec.convert(values, Study)
    except msgspec.ValidationError as problem:
        if isinstance(problem.__cause__, StudyError):
            raise problem.__cause__ from None
        found = explained(problem, values, Study)
        raise StudyError(found.problem, found.key) from None


def check_points(study: Study) -> None:
    """Build the scenario of every point once, so that what is wrong is found before any runs."""
    for point in study.points():
        scenario_at(study, point)


def scenario_at(study: Study, point: Mapping[str, Any]) -> Scenario:
    """The scenario at a point; an error names the parameter if it is to blame."""
    try:
        return from_mapping(study.mapping(point))
    except ScenarioError as problem:
        if problem.key in point:
            raise StudyError(problem.problem, f"parameters.{problem.key!r}") from None
        at = ", ".join(f"{key} = {value!r}" for key, value in point.items())
        where = f"scenario.{problem.key}" if problem.key else "scenario"
        raise StudyError(f"{problem.problem}{f' (at {at})' if at else ''}", where) from None


__all__ = ["Figure", "Proportion", "Study", "load", "parse", "scenario_at"]
