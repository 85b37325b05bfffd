"""What is kept on disk, and for which links."""

from __future__ import annotations

from sapwood.protocol.durable.settings import DurabilitySettings


def test_nothing_is_kept_unless_it_is_wanted() -> None:
    assert not DurabilitySettings().is_on
    assert not DurabilitySettings().keeps_link("B2")


def test_links_can_be_left_out() -> None:
    settings = DurabilitySettings(spool="disk", memory_links=("B2",))
    assert settings.is_on
    assert settings.keeps_link("B1")
    assert not settings.keeps_link("B2")
