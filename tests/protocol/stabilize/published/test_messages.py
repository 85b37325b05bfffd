"""Messages of the wrapper: carried like any other in the simulator, unknown on the wire."""

from __future__ import annotations

import pytest

from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.protocol.stabilize.published.messages import Switch, Tagged, as_message


@pytest.mark.parametrize("message", [Switch("subscribed", 1), Tagged(0, Subscribe("1", "x = 1"))])
def test_it_has_no_form_on_the_wire(message: Switch | Tagged) -> None:
    encoded = CODEC.encode(as_message(message))
    with pytest.raises(Exception, match="message"):
        CODEC.decode(encoded)
