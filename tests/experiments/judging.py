"""Helpers for tests of experiments: curves without Spark, and verdicts by claim."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean, stdev

from sapwood.experiments.claims import Claim
from sapwood.experiments.curves import Curves, Point, Sample, differences
from sapwood.experiments.experiment import Experiment
from sapwood.pipeline.study.runs import seeds_from
from sapwood.pipeline.study.statistics import t_quantile


def samples_here(experiment: Experiment, runs: int | None = None) -> list[Sample]:
    """All values of the quick size, computed in this process."""
    size = experiment.quick
    samples = [
        Sample(*one[:3], repeat, one.y)
        for point in size.points
        for repeat, seed in enumerate(seeds_from(experiment.seed, runs or size.runs))
        for one in experiment.measure(point, seed)
    ]
    return samples + differences(samples, experiment.pairs)


def curves_of(samples: list[Sample], *, is_printed: bool = True) -> Curves:
    """Means and intervals, by another way than on Spark."""
    groups: defaultdict[tuple[str, str, float], list[float]] = defaultdict(list)
    for one in samples:
        groups[one[:3]].append(one.value)
    return Curves([_point(key, values) for key, values in groups.items()], is_printed=is_printed)


def _point(key: tuple[str, str, float], values: list[float]) -> Point:
    mean = fmean(values)
    if len(values) < 2:
        return Point(*key, 1, mean, None, None, None)
    deviation = stdev(values)
    reach = t_quantile(len(values) - 1) * deviation / math.sqrt(len(values))
    return Point(*key, len(values), mean, deviation, mean - reach, mean + reach)


def verdicts(claims: list[Claim]) -> dict[tuple[str, str], str]:
    """By claim and text."""
    return {(one.id, one.text): one.verdict for one in claims}
