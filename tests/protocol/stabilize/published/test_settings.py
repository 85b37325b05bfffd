"""What is set for a broker of a published scheme."""

from __future__ import annotations

from sapwood.protocol.stabilize.published.settings import SchemeSettings


def test_unsubscriptions_are_told_unless_set_otherwise() -> None:
    settings = SchemeSettings(scheme="rebuild", lease_period=60.0)
    assert (settings.ends, settings.phase, settings.root) == (True, 0.0, "")
