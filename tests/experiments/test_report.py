"""The page of results."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sapwood.errors import ExperimentError
from sapwood.experiments.claims import near, not_judged
from sapwood.experiments.report import build
from sapwood.experiments.running import Outcome

OUTCOME = Outcome(
    name="one",
    title="A <title>",
    shows=("T1",),
    setup="set-up",
    size="quick",
    is_printed=False,
    claims=[near("T1", "equal", 1.5, 1.0), not_judged("T2", "other", 1, "no way to know")],
    corrections=("a slip",),
    figures=["one.png"],
    runs=4,
    repeats=2,
    reused=0,
    points=[{"brokers": 3}, {"brokers": 4}],
    seed=1,
    code="1-abc",
    versions={"python": "3.12"},
    seconds=1.0,
    cpu_seconds=2.0,
    digest="d1",
    failures=[],
)


def test_everything_is_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "outcome.json").write_bytes(msgspec.json.encode(OUTCOME))
    (tmp_path / "one" / "one.png").write_bytes(b"picture")
    page = build(tmp_path).read_text(encoding="utf-8")
    for text in (
        "A &lt;title&gt;",
        "0 holds, 1 differs, 1 not judged",
        "no way to know",
        "a slip",
        "cGljdHVyZQ==",
        "not the printed size",
        "brokers 3; brokers 4",
        "python 3.12",
    ):
        assert text in page


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="holds no results; run `sapwood experiment NAME"):
        build(tmp_path)


def test_results_of_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "outcome.json").write_text('{"name": "one"}', encoding="utf-8")
    with pytest.raises(ExperimentError, match="is of another version"):
        build(tmp_path)
