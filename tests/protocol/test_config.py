"""What is set for a broker is checked when it is set."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.errors import RoutingError
from sapwood.protocol.config import BrokerConfig


def test_configuration_can_be_read_from_plain_data() -> None:
    plain = {"id": "B1", "settle_interval": 0.1, "expected": ["B2"]}
    config = msgspec.convert(plain, BrokerConfig)
    assert config == BrokerConfig(id="B1", settle_interval=0.1, expected=("B2",))


def test_a_bare_broker_neither_refreshes_nor_keeps_a_tree() -> None:
    """The simulator of perfect links drives it, and gives it its tree."""
    config = BrokerConfig(id="B1")
    assert (config.stabilization.refresh, config.tree.protocol) == ("off", "off")


@pytest.mark.parametrize("field", ["routing", "advertisement_routing"])
def test_an_algorithm_that_does_not_exist_is_refused(field: str) -> None:
    with pytest.raises(RoutingError, match="no routing algorithm 'magic'"):
        msgspec.structs.replace(BrokerConfig(id="B"), **{field: "magic"})


@pytest.mark.parametrize(
    ("required", "routing", "expected"),
    [(True, "covering", True), (True, "flooding", False), (False, "covering", False)],
)
def test_advertisements_spread_where_they_are_required_and_not_flooded(
    required: bool, routing: str, expected: bool
) -> None:
    config = BrokerConfig(id="B", advertisements_required=required, advertisement_routing=routing)
    assert config.spreads_advertisements is expected
