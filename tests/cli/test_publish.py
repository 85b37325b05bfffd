"""`sapwood publish`: from the command line and from standard input, and what is wrong there."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sapwood.sync
from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.protocol.client.delivered import Delivered

Captured = pytest.CaptureFixture[str]


class Network:
    """A broker, and somebody who listens to everything."""

    def __init__(self, url: str, heard: sapwood.sync.Subscription) -> None:
        self.url = url
        self._heard = heard

    def publish(self, *words: str) -> int:
        return run(["publish", "-s", self.url, *words])

    def heard(self, count: int) -> list[tuple[dict[str, Any], bytes]]:
        """What was published, and nothing after it."""
        items = [self._heard.get(20) for _ in range(count)]
        assert self._heard.read(seconds=0.05) == []
        return [(dict(item), item.payload) for item in items if isinstance(item, Delivered)]


@pytest.fixture
def network() -> Iterator[Network]:
    with chain_in_background(1) as servers:
        url = str(servers[0].address)
        with sapwood.sync.connect(url) as bus, bus.subscribe("true") as heard:
            yield Network(url, heard)


def give(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))


def test_one_is_published_and_its_id_printed(network: Network, capsys: Captured) -> None:
    assert network.publish("symbol=IBM", "price:=120.5", "urgent:=true") == 0
    assert network.heard(1) == [({"symbol": "IBM", "price": 120.5, "urgent": True}, b"")]
    [found] = capsys.readouterr().out.splitlines()
    assert json.loads(found)["id"].startswith("client-")
    assert json.loads(found)["id"].endswith(":1")


def test_a_number_that_is_sent_as_text_is_told_once(network: Network, capsys: Captured) -> None:
    assert network.publish("price=200", "urgent=true", "size:=3", "symbol=IBM") == 0
    sent = {"price": "200", "urgent": "true", "size": 3, "symbol": "IBM"}
    assert network.heard(1) == [(sent, b"")]
    assert capsys.readouterr().err == (
        "price, urgent: sent as text; use price:=200 for a number, urgent:=true for a boolean\n"
    )
    assert network.publish("symbol=IBM", "size:=3", "part=007") == 0
    assert capsys.readouterr().err == ""


def test_a_payload_comes_from_a_file(network: Network, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "payload"
    file.write_bytes(b"\x00\xff")
    assert network.publish("--payload", str(file)) == 0
    assert network.heard(1) == [({}, b"\x00\xff")]
    assert network.publish("--payload", str(tmp_path / "none")) == 2
    assert "none: No such file or directory" in capsys.readouterr().err


def test_lines_come_from_stdin(
    network: Network, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    lines = ['{"x": 1}', "", '{"id": "a.1:2", "attributes": {"x": 2, "é": "ü"}}', '{"x": 3}']
    give(monkeypatch, "\n".join(lines))
    assert network.publish("-") == 0
    assert [found for found, _ in network.heard(3)] == [{"x": 1}, {"x": 2, "é": "ü"}, {"x": 3}]
    assert capsys.readouterr() == ("", "published 3\n")


def test_a_rate_is_kept(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, '{"x": 1}\n' * 6)
    start = time.monotonic()
    assert network.publish("-", "--rate", "50") == 0
    assert time.monotonic() - start >= 5 / 50
    assert len(network.heard(6)) == 6


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('{"x": 1}\n{"x": }\n', "stdin, line 2, column 7: not JSON (Expecting value)"),
        ('{"x": 1}\n[1]\n', 'stdin, line 2: not an object; write {"name": value, …}'),
        ('{"x": 1}\n{"x": null}\n', "stdin, line 2: attribute 'x' is of type NoneType"),
        ('{"x": 1}\n{"x": 1e999}\n', "stdin, line 2: attribute 'x' is inf"),
        (b'{"x": 1}\n"\xff"\n', "stdin, line 2: not UTF-8"),
    ],
)
def test_a_bad_line_is_named_and_nothing_after_it_published(
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    lines: str | bytes,
    problem: str,
) -> None:
    give(monkeypatch, lines)
    assert network.publish("-") == 2
    assert network.heard(1) == [({"x": 1}, b"")]
    published, error = capsys.readouterr().err.splitlines()
    assert published == "published 1"
    assert error.startswith(f"error: {problem}")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "nothing to publish: give NAME=TEXT or NAME:=JSON, or -"),
        (["price"], "'price' is not an attribute: write NAME=TEXT or NAME:=JSON"),
        (["price:={"], "the value of 'price' is not JSON (Expecting property name"),
        (["x:=[1]"], "attribute 'x' is of type list; a value is bool, int, float or str"),
        (["x:=1", "--rate", "3"], "--rate is for notifications from stdin"),
    ],
)
def test_wrong_words_publish_nothing(
    network: Network, capsys: Captured, words: list[str], problem: str
) -> None:
    assert network.publish(*words) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {problem}")
    assert err.count("\n") == 1
    assert network.heard(0) == []


def test_refusals_are_a_no(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    with chain_in_background(1, advertisements="required") as servers:
        url = str(servers[0].address)
        give(monkeypatch, '{"x": 1}\n{"x": 2}\n')
        assert run(["publish", "-s", url, "-"]) == 1
        told = capsys.readouterr().err.splitlines()
        assert told == ["published 2", "2 were refused, of 0 it is not known"]
        assert run(["publish", "-s", url, "x=1"]) == 2
        assert "has not advertised what it publishes" in capsys.readouterr().err
