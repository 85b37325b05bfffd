"""A broker runs machine code, whoever starts it; and Numba where it may not, saying why."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sapwood
from machine.making import made
from runtime.living import run
from sapwood.runtime.client import connect

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="machine code is mapped on Linux only"),
]

NOBODY = 65534
UNPRIVILEGED = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search",
    "--bounding-set=-all,+dac_read_search",
)
"""Another user, who owns nothing and can write nothing. That it can read everything lets it run
an interpreter that lies in somebody's home."""


@contextmanager
def broker(
    environment: Mapping[str, str], *before: str
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A broker that is up, and what it said until then."""
    with subprocess.Popen(
        [*before, sys.executable, "-m", "sapwood", "broker", "--id=B1", "--listen=127.0.0.1:0"],
        env={**os.environ, **environment},
        cwd="/",
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said: list[str] = []
            for line in process.stderr:
                said.append(line.strip())
                if "is part of the network" in line:
                    break
            assert "is part of the network" in "".join(said), said
            yield process, said
        finally:
            process.kill()


def maps(process: subprocess.Popen[str]) -> list[str]:
    return Path(f"/proc/{process.pid}/maps").read_text().splitlines()


def has_compiler(lines: list[str]) -> bool:
    return any("llvmlite" in line or "/numba/" in line for line in lines)


async def exchange(url: str) -> None:
    """Publish something, and get it."""
    async with connect(url) as bus, bus.subscribe("price > 100") as quotes:
        await bus.publish({"price": 120})
        async for quote in quotes:
            found: Any = quote
            assert found["price"] == 120
            break


def url_of(said: list[str]) -> str:
    return next(line for line in said if "listens on" in line).split()[4]


def test_a_broker_has_its_kernels_and_no_compiler() -> None:
    made()
    with broker({"SAPWOOD_KERNELS": "machine"}) as (process, said):
        run(exchange(url_of(said)))
        lines = maps(process)
        assert not has_compiler(lines)
        assert [line.split()[1] for line in lines if "sapwood-kernels" in line] == ["r-xp"]
        assert [line for line in lines if "rwx" in line.split()[1]] == []
        assert not any("Numba" in line for line in said)


def test_a_compiler_would_be_seen_and_is_explained() -> None:
    with broker({"SAPWOOD_KERNELS": "numba"}) as (process, said):
        assert has_compiler(maps(process))
    text = "broker B1 runs its kernels with Numba, not as machine code: SAPWOOD_KERNELS is numba"
    assert text in said


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its machine code, and nothing that Numba has kept."""
    made()
    folder = tmp_path_factory.mktemp("installation")
    left_out = shutil.ignore_patterns("*.nbi", "*.nbc")
    shutil.copytree(Path(sapwood.__file__).parent, folder / "sapwood", ignore=left_out)
    return folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_unprivileged_user_runs_an_installation_of_root(installation: Path) -> None:
    environment = {
        "PYTHONPATH": str(installation),
        "HOME": "/nonexistent",
        "SAPWOOD_KERNELS": "machine",
    }
    with broker(environment, *UNPRIVILEGED) as (process, said):
        assert Path(f"/proc/{process.pid}").stat().st_uid == NOBODY
        run(exchange(url_of(said)))
        assert not has_compiler(maps(process))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert "Traceback" not in "".join(said) + process.stderr.read()


VERSION = "from sapwood.compiled.state import kernels_line; print(kernels_line())"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.chmod(0o666), "others than its owner can write it (mode 666)"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "it is damaged"),
        (lambda path: path.unlink(), "there is none; run: python -m sapwood.compiled.warm"),
    ],
    ids=["writable by others", "damaged", "absent"],
)
def test_what_may_not_be_run_is_not_and_the_reason_is_told(
    installation: Path, spoil: object, reason: str
) -> None:
    (path,) = (installation / "sapwood" / "compiled" / "__pycache__").glob("*.code")
    kept = path.read_bytes()
    assert callable(spoil)
    spoil(path)
    environment = {**os.environ, "PYTHONPATH": str(installation), "XDG_CACHE_HOME": "/nonexistent"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", VERSION],
            env=environment, cwd="/", capture_output=True, text=True, check=True, timeout=100,
        )  # fmt: skip
    finally:
        path.write_bytes(kept)
        path.chmod(0o644)
    assert done.stdout.startswith("Numba, not machine code: ")
    assert reason in done.stdout
