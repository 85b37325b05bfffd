"""`sapwood broker`: wrong use of it, each with real processes: one line, the remedy, status 2."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.protocol.link import handshake
from sapwood.protocol.tree import Topology
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.data_directory import DataDirectory
from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.runtime.local.local_network import LocalNetwork

pytestmark = pytest.mark.slow


class Ended(NamedTuple):
    status: int
    errors: list[str]
    """Lines on stderr that begin with ``error:``, without it."""
    out: str


def ended(*arguments: str, **environment: str) -> Ended:
    """How `sapwood broker` ends that cannot run."""
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "broker", *arguments],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env={**os.environ, "SAPWOOD_TOKEN": "", **environment},
    )
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return Ended(done.returncode, errors, done.stdout)


@pytest.fixture(scope="module")
def network() -> Iterator[LocalNetwork]:
    """B1, with a secret, and B2."""
    topology = Topology(("B1", "B2"), (("B1", "B2"),))
    with LocalNetwork(topology, ["--token=right", "--network=sites"]) as network:
        yield network


@pytest.fixture
def joined(network: LocalNetwork) -> tuple[str, ...]:
    """Options of a broker that may join."""
    return ("--listen=127.0.0.1:0", f"--join={network['B1'].url}", "--network=sites")


def test_an_address_in_use(network: LocalNetwork) -> None:
    taken: BrokerProcess = network["B1"]
    assert ended("--id=B3", f"--listen=127.0.0.1:{taken.port}") == (
        2,
        [f"{taken.url} is in use; choose another port with --listen, or stop what uses it"],
        "",
    )


def test_an_admin_address_in_use(network: LocalNetwork) -> None:
    taken: BrokerProcess = network["B1"]
    assert ended("--id=B3", "--listen=127.0.0.1:0", f"--admin={taken.admin_port}") == (
        2,
        [
            f"the admin address 127.0.0.1:{taken.admin_port} is in use; "
            "choose another port with --admin"
        ],
        "",
    )


def test_another_network(network: LocalNetwork, joined: tuple[str, ...]) -> None:
    found = ended("--id=B3", *joined, "--network=other", "--token=right")
    assert found.status == 2
    assert found.errors == [
        "this is network 'sites', not 'other'; give the right address or the right network name"
    ]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_wrong_credentials(network: LocalNetwork, joined: tuple[str, ...], token: str) -> None:
    found = ended("--id=B3", *joined, SAPWOOD_TOKEN=token)
    assert found.status == 2
    assert found.errors == ["the token is missing or wrong; give this network's token"]


def test_the_id_of_a_living_broker(network: LocalNetwork, joined: tuple[str, ...]) -> None:
    found = ended("--id=B2", *joined, SAPWOOD_TOKEN="right")
    assert found.status == 2
    (error,) = found.errors
    assert "'B2'" in error
    assert "choose another id" in error


def test_no_common_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker of some later release that speaks version 1 no more."""
    later = (2, 3)
    common = handshake.common_version
    monkeypatch.setattr(handshake, "VERSIONS", later)
    monkeypatch.setattr(handshake, "common_version", lambda offered: common(offered, later))
    with chain_in_background(1) as servers:
        found = ended("--id=B2", "--listen=127.0.0.1:0", f"--join={servers[0].address}")
    assert found.status == 2
    assert found.errors == [
        "no common protocol version: you speak 1-1, this broker 2-3; upgrade the older of the two"
    ]


def test_another_routing(network: LocalNetwork, joined: tuple[str, ...]) -> None:
    found = ended("--id=B3", *joined, "--token=right", "--routing=flooding")
    assert found.status == 2
    assert found.errors == [
        "this network routes by covering, not by flooding; flooding does not go together with "
        "others: start the broker with --routing covering"
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "id is missing; give it with --id, or as id in the file"),
        (["--id=B1", "--listen=a:b"], "--listen is wrong: 'a:b' is no address; write sapwood://"),
        (["--id=B1", "--join=http://a"], "--join is wrong: 'http://a' is no address; write "),
        (["--id=B1", "--admin=a"], "--admin is wrong: 'a' is no admin address; write HOST:PORT"),
        (["--id=B1", "--routing=x"], "--routing is 'x'; allowed are auto, covering, flooding, "),
        (
            ["--id=B1", "--listen=0.0.0.0:0"],
            "--listen is 0.0.0.0, which other machines can reach, and there is no TLS; "
            "set tls.certificate and tls.key in a configuration file, or say --insecure",
        ),
        (["--id=B1", "--config=gone.toml"], "gone.toml: cannot be read: No such file or directory"),
        (["--id=B1", "--wrong"], "No such option: --wrong"),
    ],
)
def test_wrong_options(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["broker", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {error}")
    assert err.count("\n") == 1


def test_an_invalid_key(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[link]\nbufer_bytes = 1\n")
    found = ended("--id=B1", f"--config={file}")
    assert found.status == 2
    (error,) = found.errors
    assert error.startswith(
        f"{file}: link.bufer_bytes is no key here; did you mean 'buffer_bytes'? Allowed are "
    )


def test_a_trace_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = ended("--id=B1", "--listen=127.0.0.1:0", f"--trace={tmp_path / 'file'}")
    assert found.status == 2
    assert len(found.errors) == 1


def test_a_directory_for_data_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = ended("--id=B1", "--listen=127.0.0.1:0", f"--data={tmp_path / 'file'}")
    assert found.status == 2
    assert found.errors[0].startswith("the session number cannot be kept in ")


NOBODY = "--join=sapwood://127.0.0.1:9"


def test_an_unreachable_peer() -> None:
    found = ended("--id=B2", "--listen=127.0.0.1:0", NOBODY, "--join-seconds=0.5")
    assert found.status == 2
    assert found.errors == [
        "cannot reach sapwood://127.0.0.1:9: Connection refused; is a broker listening there? "
        "(tried for 0.5 s; join_seconds = 0 tries for ever)"
    ]


def _for_ever(data: Path) -> list[str]:
    return ["--join-seconds=0"]


def _by_memory(data: Path) -> list[str]:
    """It was part of the network before."""
    DataDirectory(Settings(id="B2", data=str(data))).note_part()
    return [f"--data={data}", "--join-seconds=1e-6"]


@pytest.mark.parametrize("made", [_for_ever, _by_memory])
def test_an_unreachable_peer_that_must_be_right_is_tried_again(
    made: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    """Sites start in any order: that the other one is not there yet is no reason to give up."""
    broker = BrokerProcess("B2", 0, 0, [NOBODY, *made(tmp_path)])
    broker.launch()
    try:
        broker.wait_until_saying("broker B2: cannot reach sapwood://127.0.0.1:9: Connection refuse")
        assert broker.lines[-1].endswith("is a broker listening there? (trying again)")
        assert broker.is_running
    finally:
        assert broker.stop() == 0
