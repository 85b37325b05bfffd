"""What the installer says about downloads is what pip reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import install

PIP_OUTPUT = """\
Obtaining file:///somewhere
  Preparing editable metadata (pyproject.toml): finished with status 'done'
Collecting numpy>=2.1 (from sapwood==0.1.0)
  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (62 kB)
Collecting lark>=1.2 (from sapwood==0.1.0)
  Using cached lark-1.3.1-py3-none-any.whl (113 kB)
Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)
Installing collected packages: lark, numpy, sapwood
Successfully installed lark-1.3.1 numpy-2.4.6 sapwood-0.1.0
"""


def test_downloads_are_added_up() -> None:
    tally = install.Tally()
    shown = [text for line in PIP_OUTPUT.splitlines() if (text := tally.read(line))]
    assert shown == [
        "  numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (62 kB)",
        "  numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)",
    ]
    assert tally == install.Tally(packages=3, downloaded_bytes=16_962_000, local_bytes=113_000)
    assert tally.summary() == (
        "installed 3 packages, downloaded 17.0 MB, 0.1 MB were already on this machine"
    )


def test_a_local_wheel_is_not_a_download(tmp_path: Path) -> None:
    wheel = tmp_path / "lark-1.3.1-py3-none-any.whl"
    wheel.write_bytes(b"x" * 1000)
    tally = install.Tally()
    assert tally.read(f"Processing {wheel} (from sapwood==0.1.0)") is None
    assert tally == install.Tally(local_bytes=1000)


def test_pip_gets_our_pins() -> None:
    command = install.pip_command(["setuptools"])
    assert command[command.index("-c") + 1] == str(install.CONSTRAINTS)
    assert install.CONSTRAINTS.is_file()


def test_an_unknown_extra_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["matchng"]) == 2
    assert capsys.readouterr().err == (
        "error: unknown extra 'matchng'; choose from matching, network, trace, spark, dev, docs\n"
    )


def test_a_failed_installation_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "run_pip", lambda arguments, tally: ["ERROR: no such version"])
    assert install.main([]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("Installing sapwood into ")
    assert err.startswith("ERROR: no such version\nerror: the installation failed;")


def test_pip_errors_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(arguments: object) -> list[str]:
        return [sys.executable, "-c", "print('ERROR: refused'); raise SystemExit(1)"]

    monkeypatch.setattr(install, "pip_command", failing)
    assert install.run_pip(["anything"], install.Tally()) == ["ERROR: refused"]
