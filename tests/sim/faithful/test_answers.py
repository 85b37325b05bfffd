"""Whoever asks is answered, or told why not, whatever happens meanwhile (virtual time)."""

from __future__ import annotations

from sapwood.protocol.link.limits import LinkLimits
from sim.faithful.loading import QUICK_LINK, client, line

PATIENT_LINK = LinkLimits(
    silence_seconds=20.0, retry_first_seconds=QUICK_LINK.retry_first_seconds, slow_seconds=25.0
)


def test_a_survey_that_does_not_come_back_is_refused_and_can_be_repeated() -> None:
    network = line(2, link=PATIENT_LINK, settle_patience=2.0)
    asker = client(network, "asker.1", "B1")
    network.freeze("B1", "B2")
    network.survey("asker.1")
    assert network.driver.run_until(lambda: bool(asker.refused), 5)
    assert asker.refused == ["the survey did not come back in time; try again"]
    assert not asker.session.requests.is_waiting
    network.thaw("B1", "B2")
    network.survey("asker.1")
    assert network.driver.run_until(lambda: bool(asker.surveyed), 5)
    assert {one.id for one in asker.surveyed[0].brokers} == {"B1", "B2"}
    assert len(asker.refused) == 1
