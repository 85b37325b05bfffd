"""`sapwood sim`: output, exit status, traces, and what is said about wrong scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.cli.main import run as run_command
from sapwood.protocol.forwarding import Forwarding
from sapwood.trace.digest import digest
from sapwood.trace.files.reader import read
from sapwood.trace.judge.checkers import check

Captured = pytest.CaptureFixture[str]

SCENARIO = """
name = "small"
duration = 4.0
[topology]
shape = "tree"
brokers = 5
[routing]
advertisements = "required"
[workload]
type = "classes"
classes = 5
overlap = 1
arrival_rate = 3.0
departure_rate = 0.2
publication_rate = 15.0
initial_subscriptions = 5
advertise = true
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_the_result_is_printed(file: str, capsys: Captured) -> None:
    assert run_command(["sim", file]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "small, seed 1: 5 brokers"
    assert lines[1].startswith("  published ")
    assert lines[2] == ("  lost 0, duplicated 0, unexpected 0, out of order 0 FIFO, 0 causal")
    assert lines[3].startswith("  hops: ")
    assert lines[4].startswith("  digest ")
    assert "error" not in err


@pytest.mark.slow
def test_links_may_be_faithful(file: str, capsys: Captured) -> None:
    assert run_command(["sim", file, "--links", "faithful", "--json"]) == 0
    faithful = json.loads(capsys.readouterr().out)
    assert run_command(["sim", file, "--json"]) == 0
    perfect = json.loads(capsys.readouterr().out)
    assert faithful["published"] == perfect["published"]
    assert (faithful["violations"], faithful["brokers"]) == (0, 5)
    assert faithful["digest"] != perfect["digest"]
    assert run_command(["sim", file, "--links", "broken"]) == 2
    assert "there are perfect and faithful" in capsys.readouterr().err


def test_json_is_one_object(file: str, capsys: Captured) -> None:
    assert run_command(["sim", file, "--seed", "7", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seed"] == 7
    assert found["violations"] == 0
    assert len(found["digest"]) == 32
    for name in ("published", "delivered", "notification_hops", "control_hops", "settling_hops"):
        assert found[name] > 0, name


def test_a_trace_is_left_that_gives_the_same_verdict(
    file: str, tmp_path: Path, capsys: Captured
) -> None:
    assert run_command(["sim", file, "--json", "--trace", str(tmp_path / "trace")]) == 0
    found = json.loads(capsys.readouterr().out)
    trace = read(tmp_path / "trace")
    counts = check(trace).counts()
    assert {name: found[name] for name in counts if name in found} == {
        name: count for name, count in counts.items() if name in found
    }
    assert counts["expected"] > 0
    assert digest(read(tmp_path / "trace")) == found["digest"]


def test_two_traces_of_one_run_would_be_one_that_is_wrong(
    file: str, tmp_path: Path, capsys: Captured
) -> None:
    arguments = ["sim", file, "--trace", str(tmp_path / "trace")]
    assert run_command(arguments) == 0
    assert run_command([*arguments, "--seed", "2"]) == 0
    assert run_command(arguments) == 2
    assert "has a trace of run 'small-1' already; remove it" in capsys.readouterr().err


def test_without_checks_the_same_happens(file: str, capsys: Captured) -> None:
    assert run_command(["sim", file, "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert run_command(["sim", file, "--json", "--no-check"]) == 0
    unchecked = json.loads(capsys.readouterr().out)
    assert not unchecked["checked"]
    for name in ("digest", "published", "delivered", "notification_hops", "control_hops"):
        assert unchecked[name] == checked[name]
    assert run_command(["sim", file, "--no-check"]) == 0
    assert "  not checked" in capsys.readouterr().out.splitlines()


def test_violations_are_a_no_with_their_story(
    file: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Forwarding._plan

    def everyone_twice(self: Forwarding, wanted: list[str]) -> Any:
        made = plan(self, wanted)
        return made._replace(everyone=made.everyone * 2)

    monkeypatch.setattr(Forwarding, "_plan", everyone_twice)
    assert run_command(["sim", file, "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["violations"] == 1
    assert "duplicated: " in err
    assert "in run 'small-1':" in err
    assert " table " in err
    assert err.endswith(f"again: sapwood sim {file} --seed 1\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "x is no key here"),
        ("[topology]\nshape = 'ring'\nbrokers = 3", "topology.shape is 'ring'"),
        ("nonsense", "is not TOML"),
    ],
)
def test_a_wrong_scenario_is_wrong_use(
    text: str, said: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    assert run_command(["sim", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {path}")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_mix_that_fits_one_random_tree_only_is_wrong_use(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "random.toml"
    text = SCENARIO.replace('shape = "tree"', 'shape = "random"')
    for source in ("B1", "B2"):
        edges = f'edges = {{ "{source} -> B3" = "flooding" }}\n'
        path.write_text(text.replace("[workload]", f"{edges}[workload]"))
        statuses = {run_command(["sim", str(path), "--seed", str(seed)]) for seed in range(3)}
        assert statuses <= {0, 2}
        if 2 in statuses:
            assert f"error: {path}: routing.edges" in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "none.toml"
    assert run_command(["sim", str(path)]) == 2
    assert capsys.readouterr().err == f"error: {path} cannot be read: No such file or directory\n"


FAULTS = """
[stabilization]
scheme = "SCHEME"
refresh_period = 3.0
[[faults]]
type = "tables"
at = 2.0
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("lease-identity", "  tables were right again after "),
        ("off", "  tables did not become right again (no bound)"),
    ],
)
def test_after_faults_it_says_when_tables_were_right(
    file: str, capsys: Captured, scheme: str, said: str
) -> None:
    with Path(file).open("a") as scenario:
        scenario.write(FAULTS.replace("SCHEME", scheme))
    assert run_command(["sim", file]) == 0
    assert said in capsys.readouterr().out
    assert run_command(["sim", file, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    if scheme == "off":
        assert (answer["bound"], answer["recovered_after"]) == (None, None)
    else:
        assert 0 < answer["recovered_after"] <= answer["bound"]


def test_without_faults_it_says_nothing_about_them(file: str, capsys: Captured) -> None:
    assert run_command(["sim", file, "--json"]) == 0
    assert not {"bound", "recovered_after"} & json.loads(capsys.readouterr().out).keys()


@pytest.mark.slow
def test_the_scenario_that_shows_leases_recovers(capsys: Captured) -> None:
    shown = Path(__file__).parents[2] / "scenarios" / "leases.toml"
    assert run_command(["sim", str(shown), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert 0 < answer["recovered_after"] <= answer["bound"]
