"""Listening: what is said if an address cannot be listened on, with the remedy."""

from __future__ import annotations

import pytest

from runtime.serving import run, serving
from sapwood.errors import ListenError


def test_an_address_in_use_is_named_with_the_remedy() -> None:
    async def check() -> None:
        async with serving("B1") as first:
            with pytest.raises(ListenError) as found:
                async with serving("B2", listen=str(first.address)):
                    pass
            remedy = "choose another port with --listen, or stop what uses it"
            assert str(found.value) == f"{first.address} is in use; {remedy}"

    run(check())


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    async def check() -> None:
        with pytest.raises(ListenError, match=r"cannot listen on sapwood://192.0.2.1:7470: "):
            async with serving(listen="192.0.2.1:7470", insecure=True):
                pass
        with pytest.raises(ListenError, match=r"listen is 192.0.2.1, which other machines can rea"):
            async with serving(listen="192.0.2.1:7470"):
                pass

    run(check())
