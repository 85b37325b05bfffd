"""Predictions from the trace of one network, against networks whose routing was really changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sapwood.cli.main import run
from sapwood.errors import ParameterError, PipelineError
from sapwood.pipeline.loads.prediction import Prediction, predict_directory
from sapwood.trace import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
SECONDS = 30.0
BROKERS = 9
SCENARIO = """
name = "quotes"
seed = 4
duration = {seconds}
settle = 2.0

[topology]
shape = "{shape}"
brokers = {brokers}

[routing]
algorithm = "{algorithm}"

[delay]
type = "uniform"
delay_min = 0.005
delay_max = 0.05

[workload]
type = "classes"
classes = 20
overlap = 2
arrival_rate = 3.0
departure_rate = 0.1
publication_rate = 40.0
initial_subscriptions = 30
"""


def simulated(
    folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str, shape: str = "tree"
) -> dict[str, Any]:
    """What such a network carried; its trace is below `folder`."""
    file = folder / f"{algorithm}-{shape}.toml"
    text = SCENARIO.format(algorithm=algorithm, shape=shape, seconds=SECONDS, brokers=BROKERS)
    file.write_text(text)
    capsys.readouterr()
    assert run(["sim", str(file), "--json", "--trace", str(folder / f"{algorithm}-{shape}")]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def told_before(folder: Path, at: float) -> int:
    """Subscriptions that came or went before a time."""
    return sum(row.kind in {"subscribed", "unsubscribed"} and row.at < at for row in read(folder))


def test_within_a_tenth_of_what_the_changed_network_carried(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated(tmp_path, capsys, "covering")
    trace = tmp_path / "covering-tree"
    wanted = ("flooding", "simple", "identity")
    found = predict_directory(trace, wanted, held_out=0.0)
    assert found.was == "identity"
    assert [one.routing for one in found.predictions] == list(wanted)
    predicted = {one.routing: one for one in found.predictions}
    for name in ("flooding", "simple"):
        really = simulated(tmp_path, capsys, name)
        carried = really["notification_hops"] / SECONDS
        assert predicted[name].notifications == pytest.approx(carried, rel=0.1)
        if name == "simple":  # each is told over every link; the first two seconds are left aside
            early = told_before(tmp_path / "simple-tree", 2.0) * (BROKERS - 1)
            told = (really["control_hops"] - early) / (SECONDS - 2.0)
            assert predicted[name].changes == pytest.approx(told, rel=0.1)
    chain = [(f"B{number}", f"B{number + 1}") for number in range(1, BROKERS)]
    [moved] = predict_directory(trace, ["identity"], tree=chain, held_out=0.0).predictions
    really = simulated(tmp_path, capsys, "identity", "chain")
    assert moved.notifications == pytest.approx(really["notification_hops"] / SECONDS, rel=0.1)
    assert abs(moved.notifications / predicted["identity"].notifications - 1) > 0.1
    check_the_rest(trace, capsys, predicted["identity"])


def check_the_rest(trace: Path, capsys: pytest.CaptureFixture[str], identity: Prediction) -> None:
    """By the command: with time held out, a refresh period and a figure; and what is refused."""
    figure = trace.parent / "predicted.svg"
    asked = ["analyze", "predict", str(trace), "--refresh", "10", "--figure", str(figure)]
    assert run([*asked, "--json", "--master", "local[2]"]) == 0
    said = json.loads(capsys.readouterr().out)
    held = said["held_out"]
    assert held["error"] == pytest.approx(held["predicted"] / held["measured"] - 1)
    assert abs(held["error"]) < 0.25
    assert held["seconds"] == pytest.approx((held["seconds"] + said["seconds"]) / 4)
    own = next(one for one in said["predictions"] if one["routing"] == "identity")
    assert own["leasing"] == pytest.approx(own["entries"] / 10)
    assert sum(link["notifications"] for link in own["links"]) == pytest.approx(
        own["notifications"]
    )
    assert own["entries"] == pytest.approx(identity.entries, rel=0.3)
    assert "directed link" in figure.read_text()
    with pytest.raises(ParameterError, match="has no broker 'B3'"):
        predict_directory(trace, tree=[("B1", "B2")])
    with pytest.raises(PipelineError, match="there is no run 'other'"):
        predict_directory(trace, run="other")


def test_bad_input_is_refused_before_spark_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sapwood.pipeline.auditing.report.open_session", None)
    with pytest.raises(ParameterError, match="there are flooding, simple"):
        predict_directory(tmp_path, ["gossip"])
    with pytest.raises(ParameterError, match="wanted a share"):
        predict_directory(tmp_path, held_out=1.0)
    assert run(["analyze", "predict", str(tmp_path / "gone")]) == 2
    assert run(["analyze", "predict", str(tmp_path)]) == 2
    assert "holds no trace" in capsys.readouterr().err
    (tmp_path / "tree.txt").write_text("B1-B2\nB2-B1\n")
    assert run(["analyze", "predict", str(tmp_path), "--tree", str(tmp_path / "tree.txt")]) == 2
    assert "is given twice" in capsys.readouterr().err
