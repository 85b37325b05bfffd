"""`sapwood config`: what is shown, what is checked, and what is said about mistakes."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAPWOOD_TOKEN", raising=False)


def test_what_is_shown_is_a_file_that_is_right(tmp_path: Path, capsys: Captured) -> None:
    assert run(["config", "show"]) == 0
    shown = capsys.readouterr().out
    file = tmp_path / "shown.toml"
    file.write_text(shown)
    assert run(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file} is right\n"
    assert run(["config", "show", "--config", str(file)]) == 0
    assert capsys.readouterr().out == shown


def test_effective_values_come_from_the_file_and_the_environment(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('network = "sites"\n[client]\nmax_clients = 7\n')
    monkeypatch.setenv("SAPWOOD_TOKEN", "deep secret")
    assert run(["config", "show", "--config", str(file)]) == 0
    out = capsys.readouterr().out
    found = tomllib.loads(out)
    assert (found["network"], found["client"]["max_clients"]) == ("sites", 7)
    assert found["token"] == "(hidden)"
    assert "deep secret" not in out


def test_as_json(capsys: Captured) -> None:
    assert run(["config", "show", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    found = {one["key"]: one for one in settings}
    assert found["link.silence_seconds"] == {
        "key": "link.silence_seconds",
        "value": 10.0,
        "default": 10.0,
        "unit": "seconds",
        "limits": ">= 0.5",
        "description": "Time without a frame after which a connection is taken for dead.",
    }


def test_a_right_file_as_json(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("")
    assert run(["config", "check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": str(file),
        "right": True,
        "certificates": {},
    }


def zoned(directory: Path, name: str, zone: str, forbidden: str = "[]") -> str:
    """The file of a broker in one of two zones."""
    file = directory / f"{name}.toml"
    zones = '[["east", 1.0], ["west", 1.0]]'
    file.write_text(
        f'id = "{name}"\n[optimization]\nzone = "{zone}"\nzones = {zones}\n'
        f"forbidden = {forbidden}\n"
    )
    return str(file)


def test_of_the_files_of_all_brokers_some_tree_must_be_allowed(
    tmp_path: Path, capsys: Captured
) -> None:
    files = [zoned(tmp_path, "A", "east"), zoned(tmp_path, "B", "west")]
    assert run(["config", "check", *files]) == 0
    assert capsys.readouterr().out.count("is right") == 2
    files.append(zoned(tmp_path, "C", "west", '[["zone:east", "zone:west"]]'))
    assert run(["config", "check", *files]) == 2
    assert "B cannot be linked to the others: no tree has only allowed" in capsys.readouterr().err


def test_of_several_files_each_is_of_another_broker_and_pins_one_of_them(
    tmp_path: Path, capsys: Captured
) -> None:
    one = zoned(tmp_path, "A", "east")
    assert run(["config", "check", one, one, "--json"]) == 2
    assert "several brokers are 'A'" in capsys.readouterr().err
    pinning = tmp_path / "P.toml"
    pinning.write_text('id = "P"\n[optimization]\npinned = ["X"]\n')
    assert run(["config", "check", one, str(pinning)]) == 2
    assert "P pins 'X', and there is no such broker" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("days", "said", "exit_status"),
    [(400, "expires on", 0), (10, "get another one", 0), (-1, "has expired on", 1)],
)
def test_a_check_says_when_certificates_expire(
    tmp_path: Path, capsys: Captured, days: int, said: str, exit_status: int
) -> None:
    issued = trustme.CA().issue_cert(
        "hub",
        not_before=datetime.now(UTC) - timedelta(days=5),
        not_after=datetime.now(UTC) + timedelta(days=days),
    )
    certificate = tmp_path / "hub.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
    file = tmp_path / "broker.toml"
    file.write_text(f'[tls]\ncertificate = "{certificate}"\n')
    assert run(["config", "check", str(file)]) == exit_status
    told = capsys.readouterr()
    assert f"{certificate} " in told.out + told.err
    assert said in (told.err if days < 30 else told.out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[link]\nbufer_bytes = 1\n", "link.bufer_bytes is no key here; did you mean 'buffer_byt"),
        ("routing = 'x'\n", "routing is 'x'; allowed are auto, covering, "),
        ("[client]\ngrace_seconds = -1\n", "client.grace_seconds is out of range; wanted a number"),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_remedy(
    tmp_path: Path, capsys: Captured, text: str, said: str
) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(text)
    for command in (["config", "check", str(file)], ["config", "show", "--config", str(file)]):
        assert run(command) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {file}: {said}")
        assert err.count("\n") == 1
