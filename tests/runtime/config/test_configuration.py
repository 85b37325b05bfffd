"""Configuration: file, environment and options; mistakes are named; what is shown can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ConfigurationError
from sapwood.runtime.config.configuration import describe, load, to_toml, unit_of
from sapwood.runtime.config.settings import LinkSettings, Settings
from sapwood.runtime.config.toml_file import read_file


def write(folder: Path, text: str) -> Path:
    path = folder / "broker.toml"
    path.write_text(text)
    return path


def problem(folder: Path, text: str, **options: Any) -> str:
    """What is said about a file, without its name."""
    file = write(folder, text)
    with pytest.raises(ConfigurationError) as found:
        load(file, {"id": "B1", **options}, {})
    return str(found.value).removeprefix(f"{file}: ")


def test_without_anything_the_defaults_stand() -> None:
    assert load(None, {"id": "B1"}, {}) == Settings(id="B1")


def test_options_override_the_environment_and_that_the_file(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        'id = "B1"\nnetwork = "sites"\ntoken = "file"\njoin = ["a:1"]\n'
        '[trace]\ndirectory = "here"\nrun = "first"\n[link]\nbuffer_bytes = 100_000\n',
    )
    settings = load(file, {}, {})
    assert (settings.id, settings.network, settings.token) == ("B1", "sites", "file")
    assert settings.join == ("a:1",)
    assert settings.link == LinkSettings(buffer_bytes=100_000)
    settings = load(file, {"trace.directory": "there"}, {"SAPWOOD_TOKEN": "environment"})
    assert (settings.token, settings.trace.directory) == ("environment", "there")
    assert settings.trace.run == "first"
    settings = load(file, {"token": "option"}, {"SAPWOOD_TOKEN": "environment"})
    assert settings.token == "option"


def test_an_admin_port_alone_is_one_of_this_machine() -> None:
    assert load(None, {"id": "B1", "admin": "8470"}, {}).admin == "127.0.0.1:8470"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[link]\nbufer_bytes = 1\n",
            "link.bufer_bytes is no key here; did you mean 'buffer_bytes'? Allowed are ",
        ),
        ("lissten = 'a'\n", "lissten is no key here; did you mean 'listen'? Allowed are "),
        ("[link]\nbuffer_bytes = 'x'\n", "link.buffer_bytes is text; wanted a whole number"),
        (
            "[link]\nbuffer_bytes = 1\n",
            "link.buffer_bytes is out of range; wanted a whole number >= 65536",
        ),
        ("link = 5\n", "link is a whole number; wanted a table"),
        (
            "routing = 'coverin'\n",
            "routing is 'coverin'; did you mean 'covering'? Allowed are auto, covering, ",
        ),
        ("listen = 'http://a'\n", "listen is wrong: 'http://a' is no address; write "),
        ("join = ['a:b']\n", "join is wrong: 'a:b' is no address; write "),
        ("advertise = ['a:b']\n", "advertise is wrong: 'a:b' is no address; write "),
        ("admin = 'host'\n", "admin is wrong: 'host' is no admin address; write "),
        ("listen = '0.0.0.0'\n", "listen is 0.0.0.0, which other machines can reach, "),
        ("listen = 'sapwoods://127.0.0.1'\n", "listen is sapwoods://127.0.0.1:7470, and there is "),
        ("admin = '0.0.0.0:1'\n", "admin is 0.0.0.0, which other machines can reach, "),
        (
            "[link]\nretry_first_seconds = 9.0\nretry_max_seconds = 1.0\n",
            "link.retry_max_seconds is 1.0; wanted at least retry_first_seconds, 9.0",
        ),
        (
            "[tree]\nbeacon_seconds = 31\n",
            "tree.beacon_seconds is 31 s; wanted beacon period ≤ refresh period = 30 s",
        ),
        (
            "routing_variant = 'hierarchical'\n[tree]\nprotocol = 'off'\n",
            "routing_variant is 'hierarchical', which follows the parents in the tree",
        ),
        (
            "routing_variant = 'hierarchical'\n[edge_routing]\nchoice = 'auto'\n",
            "routing_variant is 'hierarchical', where edges follow the tree, but edge_routing",
        ),
        (
            "routing = 'flooding'\n[edge_routing]\nchoice = 'auto'\n",
            "edge_routing.choice is 'auto', but routing is 'flooding'",
        ),
        ("[edge_routing]\nchoice = 'sometimes'\n", "edge_routing.choice is 'sometimes'; "),
        ("[edge_routing]\ntelling = ['gossip']\n", "edge_routing.telling"),
        ("[edge_routing]\ntelling = []\n", "edge_routing.telling"),
        ("[edge_routing]\nthreshold = 1.5\n", "edge_routing.threshold is out of range; "),
        ("[edge_routing]\nwindow_seconds = 0\n", "edge_routing.window_seconds is out of range; "),
        (
            "[edge_routing]\nwindow_seconds = 5\n",
            "edge_routing.window_seconds is 5.0; wanted at least period_seconds, 10.0",
        ),
        (
            "[edge_routing]\nhold_max_seconds = 5\n",
            "edge_routing.hold_max_seconds is 5.0; wanted at least hold_seconds, 30.0",
        ),
        ("[edge_routing]\nflood_max_share = 2\n", "edge_routing.flood_max_share is out of range; "),
        ("[tls]\nkey = 'k'\n", "tls.certificate is missing; the other keys of tls need one"),
        ("[tls]\ncertificate = 'gone'\n", "tls.certificate is 'gone'; there is no such file"),
        ("a = \n", "is not TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, text: str, said: str) -> None:
    assert problem(tmp_path, text).startswith(said)


def test_what_is_wrong_among_the_options_is_said_as_such(tmp_path: Path) -> None:
    assert problem(tmp_path, "", routing="foo").startswith("--routing is 'foo'; allowed are ")
    assert problem(tmp_path, "", listen="a:b").startswith("--listen is wrong: 'a:b' is no address")
    said = problem(tmp_path, "trace = 1\n", **{"trace.directory": "d"})
    assert said == "trace is a whole number; wanted a table"


def test_a_broker_must_have_a_name() -> None:
    with pytest.raises(ConfigurationError, match=r"^id is missing; give it with --id, or as id "):
        load(None, {}, {})
    assert load(None, {}, {}, default_id="B1").id == "B1"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone.toml: cannot be read: No such file"):
        read_file(tmp_path / "gone.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"binary.toml: is not TOML: "):
        read_file(tmp_path / "binary.toml")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(
    network=TEXTS,
    join=st.lists(st.just("a:1"), max_size=3),
    buffer_bytes=st.integers(65_536, 2**40),
    silence=st.floats(0.5, 1e6),
)
def test_what_is_shown_can_be_read_again(
    network: str, join: list[str], buffer_bytes: int, silence: float
) -> None:
    link = LinkSettings(buffer_bytes=buffer_bytes, silence_seconds=silence)
    settings = Settings(id="B1", network=network, join=tuple(join), link=link)
    assert msgspec.convert(tomllib.loads(to_toml(settings)), Settings) == settings


def test_a_secret_is_not_shown() -> None:
    settings = Settings(id="B1", token="deep secret")
    assert "deep secret" not in to_toml(settings)
    found = {one.key: one.value for one in describe(settings)}
    assert found["token"] == "(hidden)"
    assert {one.key: one.value for one in describe(Settings(id="B1"))}["token"] == ""


def test_every_setting_is_shown_with_unit_limits_and_default() -> None:
    found = {one.key: one for one in describe(Settings(id="B1"))}
    one = found["link.buffer_bytes"]
    assert (one.value, one.default, one.unit, one.limits) == (2**24, 2**24, "bytes", ">= 65536")
    assert found["id"].default is None
    assert found["routing"].limits == "auto, covering, flooding, identity, merging, simple"
    assert found["ack_seconds"].limits == "> 0, <= 1"
    assert unit_of("client.max_clients") == ""
    text = to_toml(Settings(id="B1"))
    assert "# (bytes; >= 65536; default 16777216)\nbuffer_bytes = 16777216\n" in text
    assert '# (required)\nid = "B1"\n' in text
