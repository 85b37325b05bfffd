"""How kernels run is told in a line, with the reason where it is not as machine code."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from machine.making import on_x86, small_image
from sapwood.compiled import state
from sapwood.compiled.compiling import machine_stamp
from sapwood.machine import store
from sapwood.machine.processor import this_host

NAME = "sapwood.compiled.table.remember"


def use(monkeypatch: pytest.MonkeyPatch, path: Path, stamp: str) -> None:
    """Let this process have one kernel as machine code."""
    image = small_image()
    (entry,) = image.manifest.entries.values()
    entries = {NAME: msgspec.structs.replace(entry, stamp=stamp)}
    manifest = msgspec.structs.replace(image.manifest, entries=entries)
    store.write(msgspec.structs.replace(image, manifest=manifest), [path])
    monkeypatch.setattr(store, "_chosen", [store.opened([path], this_host())])


@on_x86
def test_machine_code_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Path(state.__file__).with_name("table.py")
    use(monkeypatch, tmp_path / "code", machine_stamp(source))
    assert state.kernels_line() == f"machine code, {tmp_path / 'code'}"


@on_x86
def test_a_source_that_has_changed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, tmp_path / "code", "of other sources")
    assert state.kernels_line() == (
        f"Numba, not machine code: the source of {NAME} has changed; "
        "run: python -m sapwood.compiled.warm"
    )


def test_why_there_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_chosen", [store.MachineCode([], "the reason")])
    assert state.kernels_line() == "Numba, not machine code: the reason"
    assert state.why_numba() == ""
    store.machine_code().function("some.kernel", lambda: "stamp")
    assert state.why_numba() == "the reason"
