"""`sapwood analyze traffic`: every algorithm side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]
SMALL = ["--arity", "2", "--levels", "3", "--classes", "10", "--subscriptions", "40"]


def analyzed(capsys: Captured, *options: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    assert run(["analyze", "traffic", *options, "--json"]) == 0
    return {(one["routing"], one["variant"]): one for one in json.loads(capsys.readouterr().out)}


def test_the_setting_of_the_thesis(capsys: Captured) -> None:
    found = analyzed(capsys)
    assert list(found) == [
        ("flooding", None),
        ("simple", "peer-to-peer"),
        ("simple", "hierarchical"),
        ("identity", "peer-to-peer"),
        ("identity", "hierarchical"),
        ("merging", "peer-to-peer"),
        ("merging", "hierarchical"),
    ]
    assert found["flooding", None]["total"] == pytest.approx(120_000)
    assert round(found["identity", "hierarchical"]["saved"]) == 22_216


def test_for_people(capsys: Captured) -> None:
    assert run(["analyze", "traffic", *SMALL, "--refresh-seconds", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "7 brokers, height 2; 40 subscriptions, 1,000 publications/s; entries not renewed"
    )
    assert lines[3].split() == ["flooding", "6,000.0", "0.0", "0.0", "6,000.0", "0.0", "0.0"]
    assert len(lines) == 10


def test_any_tree(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "links.txt"
    file.write_text("# a chain\nA-B\n\nB - C  # its end\n")
    from_a = analyzed(capsys, *SMALL, "--links", str(file))
    from_b = analyzed(
        capsys, *SMALL, "--links", str(file), "--root", "B", "--clients-at", "brokers"
    )
    totals = [found["flooding", None]["total"] for found in (from_a, from_b)]
    assert totals == pytest.approx([2000, 2000])
    chain = from_a["identity", "hierarchical"]["entries"]
    assert chain == pytest.approx(2 * 10 * (1 - 2.718281828459045**-4))


def test_renewals_as_the_rule_sends_them(capsys: Captured) -> None:
    options = [*SMALL, "--refresh-seconds", "600"]
    plain, ruled = analyzed(capsys, *options), analyzed(capsys, *options, "--handover")
    key = ("identity", "hierarchical")
    assert 1.1 < ruled[key]["renewals"] / plain[key]["renewals"] < 1.5
    assert ruled["simple", "hierarchical"] == plain["simple", "hierarchical"]
    assert run(["analyze", "traffic", *options, "--handover", "--lifetime", "60"]) == 0
    assert "renewals are overestimated" in capsys.readouterr().err


@pytest.mark.slow
def test_a_figure(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "new" / "traffic.svg"
    assert run(["analyze", "traffic", *SMALL, "--figure", str(file)]) == 0
    assert capsys.readouterr().err == f"drew {file}\n"
    assert b"merging hierarchical" in file.read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--subscriptions", "-1"], "subscriptions: is -1; wanted a finite rate, 0 or more"),
        (["--publication-rate", "inf"], "publication_rate: is inf; wanted a finite rate"),
        (["--classes", "0"], "classes: is 0; wanted 1 or more"),
        (["--refresh-seconds", "-1"], "refresh_period: is -1; wanted a finite number above 0"),
        (["--clients-at", "home"], "Invalid value for --clients-at: 'home'; there are leaves and"),
        (["--root", "B1"], "Invalid value for --root: goes with --links only"),
    ],
)
def test_what_is_refused(capsys: Captured, options: list[str], said: str) -> None:
    assert run(["analyze", "traffic", *SMALL, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
