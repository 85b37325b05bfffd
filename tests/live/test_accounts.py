"""The attacks of strangers on a live network with accounts; in virtual time: test_node_accounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.serving import run, serving
from sapwood.errors import RefusedError
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.hashing import hash_password, hash_token
from sapwood.runtime.client import ConnectOptions, connect

ACCOUNTS = f"""
[accounts.alice]
secret = "{hash_token("alice-token")}"
publish = "site = 17"
subscribe = "site = 17"

[accounts.mallory]
secret = "{hash_password("open sesame", b"0123456789abcdef")}"
publish = "site = 18"
subscribe = "true"

[accounts.B1]
role = "broker"
secret = "{hash_token("hub")}"

[accounts.B2]
role = "broker"
secret = "{hash_token("site")}"
"""


def test_strangers_get_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(ACCOUNTS)

    async def check() -> None:
        hub = {"accounts": str(file), "account": "B1", "secret": "hub"}
        async with (
            serving("B1", **hub) as first,
            serving("B2", join=(str(first.address),), account="B2", secret="site", **_only(hub)),
            connect(str(first.address), id="alice", account="alice", secret="alice-token") as alice,
            connect(str(first.address), account="mallory", secret="open sesame") as mallory,
        ):
            url = str(first.address)
            guesses: tuple[ConnectOptions, ...] = (
                {},
                {"token": "hub"},
                {"account": "alice", "secret": "open sesame"},
                {"id": "alice", "account": "mallory", "secret": "open sesame"},
                {"account": "mallory", "secret": "guess"},
                {"account": "B2", "secret": "site"},
            )
            for options in guesses:
                with pytest.raises(RefusedError):
                    await connect(url, **options).__aenter__()
            with pytest.raises(RefusedError, match="is for a client, and says to be a broker"):
                async with serving("mallory", join=(url,), account="mallory", secret="open sesame"):
                    pass
            with pytest.raises(RefusedError, match="the id 'B3' is not one of account 'B2'"):
                async with serving("B3", join=(url,), account="B2", secret="site"):
                    pass
            async with mallory.subscribe("true", gaps=False) as everything:
                await alice.publish({"site": 17}, confirm=True)
                with pytest.raises(RefusedError, match="may publish what matches 'site = 17'"):
                    await alice.publish({"site": 18}, confirm=True)
                with pytest.raises(RefusedError, match="narrow the filter"):
                    async with alice.subscribe("true"):
                        pass
                got = await anext(aiter(everything))
                assert isinstance(got, Delivered)
                assert (got["site"], got.id.publisher) == (17, alice.name)
            with pytest.raises(RefusedError, match="action = 'swap'"):
                await mallory.change_tree("swap", [("B1", "B2"), ("B1", "B3")])
            accounts = {one.id: one.account for one in first.status().clients}
            assert accounts == {alice.name: "alice", mallory.name: "mallory"}
            assert [one.account for one in first.status().neighbours] == ["B2"]

    run(check())


def _only(settings: dict[str, str]) -> dict[str, str]:
    return {"accounts": settings["accounts"]}
