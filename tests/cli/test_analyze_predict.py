"""`sapwood analyze predict`: what it prints. That it is right is in tests/pipeline/loads."""

from __future__ import annotations

import pytest

from sapwood.cli.analyze_predict import show
from sapwood.cli.main import run
from sapwood.pipeline.loads.prediction import Prediction, PredictionReport


def report(**held: float | None) -> PredictionReport:
    one = Prediction(
        routing="identity", variant="peer-to-peer", notifications=12.5, changes=1.0, leasing=2.0,
        entries=20.0, total=15.5,
    )  # fmt: skip
    return PredictionReport(
        directory="d", run="r", brokers=3, filters=4, seconds=60.0, subscriptions=9.5,
        publication_rate=5.0, measured=12.0, was="identity", held_out=held, predictions=[one],
    )  # fmt: skip


def test_a_report_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    show(report(seconds=20.0, predicted=12.5, measured=10.0, error=0.25))
    said = capsys.readouterr().out
    assert said.startswith("r: 3 brokers, 4 filters; 9.5 subscriptions, 5 publications/s; 12 not")
    assert "of the 20 s held out: 12.5/s predicted, 10/s measured, +25.0%" in said
    assert said.splitlines()[-1].split() == ["identity", "12.50", "1.00", "2.00", "20.0"]
    show(report(seconds=0.0, predicted=12.5, measured=None, error=None))
    assert "the error is not known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone"], "gone does not exist"),
        ([".", "--figure", "x.gif"], "neither .svg nor .png"),
        ([".", "--tree", "gone.txt"], "gone.txt: No such file"),
        ([".", "--routing", "gossip"], "'gossip'; there are"),
    ],
)
def test_wrong_use(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "predict", *arguments]) == 2
    assert said in capsys.readouterr().err
