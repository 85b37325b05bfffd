"""Study files: what they may say, and what is said about those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.samples import TINY, changed, tiny, write
from sapwood.errors import StudyError
from sapwood.pipeline.study.results import row_columns
from sapwood.pipeline.study.study_file import Figure, Study, load, parse, scenario_at

SHIPPED = sorted((Path(__file__).parents[3] / "studies").glob("*.toml"))
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "studies.md"


def problem(text: str) -> str:
    """What is said about a wrong study; one line, always."""
    with pytest.raises(StudyError) as found:
        parse(text, "f.toml")
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_shipped_is_right(path: Path) -> None:
    study = load(path)
    assert study.name == path.stem
    assert study.figures


def test_points_are_all_combinations_in_the_order_of_the_file() -> None:
    assert list(tiny().points()) == [
        {"routing.algorithm": algorithm, "workload.overlap": overlap}
        for algorithm in ("simple", "covering")
        for overlap in (0, 1)
    ]


def test_a_study_without_parameters_has_one_point() -> None:
    study = parse(TINY.partition("[parameters]")[0])
    assert list(study.points()) == [{}]
    assert scenario_at(study, {}).name == "tiny"


def test_a_point_is_a_scenario() -> None:
    study = tiny()
    scenario = scenario_at(study, {"routing.algorithm": "merging", "workload.overlap": 2})
    assert (scenario.routing.algorithm, scenario.duration) == ("merging", 2.0)
    assert getattr(scenario.workload, "overlap", None) == 2
    assert "routing" not in study.scenario, "a point leaves the study as it is"


PROPORTIONAL = '[proportional]\n"workload.arrival_rate" = { to = "TO", factor = 2.5 }\n[measures]'


def proportional(to: str) -> str:
    return TINY.replace("[measures]", PROPORTIONAL.replace("TO", to))


def test_a_value_may_go_with_a_parameter() -> None:
    study = parse(proportional("workload.overlap").replace("[0, 1]", "[1, 2]"))
    rates = [study.mapping(point)["workload"]["arrival_rate"] for point in study.points()]
    assert rates == [2.5, 5.0] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = ", "f.toml is not TOML: "),
        (changed(repeat="3"), "f.toml: repeat is no key here; did you mean 'repeats'? "),
        (changed(repeats='"many"'), "f.toml: repeats is text; wanted a whole number"),
        (changed(repeats="0"), "f.toml: repeats is 0; wanted 1 or more"),
        (changed(seed="-1"), "f.toml: seed is -1; wanted 0 or more"),
        (changed(measure_from="nan"), "f.toml: measure_from is nan; wanted 0 or more"),
        (changed(name='"a/b"'), "f.toml: name is 'a/b'; wanted letters, digits, - and _"),
        (TINY.replace("[scenario.topology]", "[scenario.tree]"),
         "f.toml: scenario.tree is no key here; allowed are name, seed, duration, settle,"),
        (TINY.replace("duration = 2.0", "duration = -1.0"),
         "f.toml: scenario.duration is -1.0; wanted a finite number above 0 (at routing.algorithm"),
        (TINY.replace("duration = 2.0", "seed = 3"),
         "f.toml: scenario.seed is the study's to give; say it at the top"),
        (TINY.replace('"simple", "covering"', '"simple", "coverin"'),
         "f.toml: parameters.'routing.algorithm' is 'coverin'; did you mean 'covering'? Allowed "),
        (TINY.replace('"simple", "covering"', '"simple", 3'),
         "f.toml: parameters.'routing.algorithm' is a whole number; wanted text"),
        (TINY.replace('"routing.algorithm"', '"routing.algo"'),
         "f.toml: parameters.'routing.algo' is no key here; did you mean 'algorithm'? Allowed are"),
        (TINY.replace('"simple", "covering"', '"simple", "simple"'),
         "f.toml: parameters.'routing.algorithm' has 'simple' twice"),
        (TINY.replace("[0, 1]", "[]"), "f.toml: parameters.'workload.overlap' has no values"),
        (TINY.replace('"workload.overlap" = [0, 1]', '"duration.x" = [0]'),
         "f.toml: parameters.'duration.x' leads through duration, which is no section"),
        (TINY.replace('"workload.overlap" = [0, 1]', '"seed" = [0]'),
         "f.toml: parameters.'seed' is not to be varied: a study gives names and seeds itself"),
        (TINY.replace("[0, 1]", str(list(range(5001)))),
         "f.toml: parameters make 10,002 points; at most 10,000 wanted"),
        (proportional("workload.overlaps"), "f.toml: proportional.'workload.arrival_rate'.to is "
         "'workload.overlaps', no parameter; did you mean 'workload.overlap'? Allowed are"),
        (proportional("routing.algorithm"), "f.toml: proportional.'workload.arrival_rate'.to is "
         "'routing.algorithm', whose values are not all numbers"),
        (proportional("workload.overlap").replace('"workload.arrival_rate"', '"workload.overlap"'),
         "f.toml: proportional.'workload.overlap' is a parameter already"),
        (TINY.replace("hops =", '"a b" ='), "f.toml: measures.a b is no name; wanted letters"),
        (TINY.replace('y = "hops"', 'y = "hop"'),
         "f.toml: figures[0].y is 'hop', no measure; did you mean 'hops'? Allowed are hops, per_"),
        (TINY.replace('x = "workload.overlap"', 'x = "overlap"'),
         "f.toml: figures[0].x is 'overlap', no parameter; "),
        (TINY.replace('lines = "routing.algorithm"', 'lines = "x"'),
         "f.toml: figures[0].lines is 'x', no parameter; allowed are routing.algorithm, workload."),
        (TINY.replace('name = "hops"', 'name = "../hops"'),
         "f.toml: figures[0].name is '../hops'; files are named after it"),
        (TINY.replace('name = "hops"', 'nam = "hops"'),
         "f.toml: figures[0].nam is no key here; did you mean 'name'? Allowed are name, x, y,"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(text: str, expected: str) -> None:
    assert problem(text).startswith(expected)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(StudyError) as found:
        load(missing)
    assert str(found.value) == f"{missing} cannot be read: No such file or directory"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match=r"is not UTF-8 text$"):
        load(binary)


def test_a_file_is_read(tmp_path: Path) -> None:
    assert load(write(tmp_path)) == tiny()


def test_the_reference_names_every_key_and_every_column() -> None:
    text = REFERENCE.read_text()
    keys = [*Study.__struct_fields__, *Figure.__struct_fields__, *row_columns()]
    assert [key for key in keys if f"`{key}`" not in text] == []


def test_the_example_of_the_reference_is_right() -> None:
    study = parse(REFERENCE.read_text().partition("```toml\n")[2].partition("```")[0])
    assert len(list(study.points())) == 6
