"""A prediction from the trace of a live network, and the same network really routed that way."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.experiments.four_ways import scenario_of
from sapwood.experiments.live_traffic import play, script_of
from sapwood.pipeline.loads.prediction import predict_directory

WITHIN = 0.10
"""By which share a prediction may be off."""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_was_predicted_is_what_the_network_then_carries(tmp_path: Path) -> None:
    """Flooding is traced; identity-based routing is predicted from that, and then really run."""
    script = script_of(scenario_of(5, 60.0, "flooding"), seed=11)
    before = play(script, "flooding", tmp_path / "before")
    report = predict_directory(tmp_path / "before", ["identity"])
    assert report.was == "flooding"
    (predicted,) = report.predictions
    after = play(script, "identity", tmp_path / "after")
    expected = predicted.notifications / report.publication_rate
    measured = after.notifications / after.published
    assert before.published == after.published
    assert measured < 0.9 * before.notifications / before.published
    assert measured == pytest.approx(expected, rel=WITHIN)
