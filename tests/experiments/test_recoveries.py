"""Tables after faults: a run of every scheme, and what is claimed of them."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.recoveries import CLAIM_OF, EXPERIMENTS, OWN, PUBLISHED

(RECOVERY,) = EXPERIMENTS


def test_every_published_scheme_has_its_claim() -> None:
    assert sorted(CLAIM_OF) == sorted(PUBLISHED)


@pytest.mark.slow
def test_schemes_heal_in_time() -> None:
    one_run = dataclasses.replace(RECOVERY, quick=RECOVERY.quick._replace(runs=1))
    samples = samples_here(one_run)
    found = verdicts(RECOVERY.judge(curves_of(samples)))
    texts = [f"share of starts that {name} heals later than its bound" for name in CLAIM_OF]
    assert {verdict for (_, text), verdict in found.items() if text in texts} == {HOLDS}
    spoilt = [one._replace(value=1.0) if one[:2] == ("late", OWN[0]) else one for one in samples]
    late = verdicts(RECOVERY.judge(curves_of(spoilt)))
    own = f"share of starts that {OWN[0]} heals later than its bound (Sapwood's own)"
    assert (found["own", own], late["own", own]) == (HOLDS, DIFFERS)
