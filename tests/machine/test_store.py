"""Machine code that can be used is found; if there is none it is known why."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from machine.making import on_x86, small_image
from sapwood.machine import store
from sapwood.machine.image import encoded
from sapwood.machine.processor import this_host

NAME = "some.module.nothing"


@on_x86
def test_what_is_written_is_found_and_used_if_its_source_is_the_same(tmp_path: Path) -> None:
    path = store.write(small_image(), [tmp_path / "folder" / "code"])
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]
    found = store.opened([tmp_path / "missing", path], this_host())
    assert (found.why_none, found.names) == ("", [NAME])
    function = found.function(NAME, lambda: "stamp")
    assert function is not None
    assert function() is None
    assert found.function(NAME, lambda: "another") is None
    assert found.function("some.other", lambda: "stamp") is None
    assert found.used == [NAME]
    assert found.why_not == {
        NAME: "its source has changed; run: python -m sapwood.compiled.warm",
        "some.other": "it is compiled when it is first used",
    }
    assert found.signature(NAME) == "()"


@on_x86
def test_of_several_files_the_one_is_used_that_is_current(tmp_path: Path) -> None:
    old = small_image()
    entries = {NAME: msgspec.structs.replace(old.manifest.entries[NAME], stamp="old")}
    manifest = msgspec.structs.replace(old.manifest, entries=entries)
    installed = store.write(msgspec.structs.replace(old, manifest=manifest), [tmp_path / "old"])
    own = store.write(small_image(), [tmp_path / "own"])
    found = store.opened([installed, own], this_host())
    file = found.file_with(NAME, "stamp")
    assert file is not None
    assert file.path == own
    assert found.function(NAME, lambda: "stamp") is file.functions[NAME]
    assert found.file_with(NAME, "another") is None


def test_the_next_place_is_taken_where_the_first_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    candidates = [tmp_path / "file" / "code", tmp_path / "code"]
    assert store.write(small_image(), candidates) == tmp_path / "code"
    with pytest.raises(OSError, match="File exists"):
        store.write(small_image(), candidates[:1])


def why_none(path: Path) -> str:
    found = store.opened([path], this_host())
    assert found.names == []
    assert found.function(NAME, lambda: "stamp") is None
    assert found.why_not == {NAME: found.why_none}
    return found.why_none


def test_a_damaged_file_a_foreign_processor_and_a_file_of_everybody_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "code"
    assert why_none(path) == "there is none; run: python -m sapwood.compiled.warm"
    data = encoded(small_image())
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    path.chmod(0o644)
    assert why_none(path) == f"{path}: it is damaged: its digest is not that of its content"
    host = msgspec.structs.replace(this_host(), features=("teleporting",), processor="X")
    store.write(small_image(host), [path])
    assert why_none(path).startswith(
        f"{path}: it was made for a processor (X) that can do teleporting, and this one ("
    )
    store.write(small_image(), [path])
    path.chmod(0o666)
    assert why_none(path).startswith(f"{path}: others than its owner can write it (mode 666)")


def test_what_to_run_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "places", lambda _: [tmp_path / "code"])
    assert store.choose("numba").why_none == "SAPWOOD_KERNELS is numba"
    assert store.choose("auto").why_none == "there is none; run: python -m sapwood.compiled.warm"
    with pytest.raises(ImportError, match=r"SAPWOOD_KERNELS is machine, but .* there is none"):
        store.choose("machine")


def test_a_process_looks_once_and_can_be_told_to_use_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_chosen", [])
    assert store.machine_code() is store.machine_code()
    store.use_none("it is being made")
    assert store.machine_code().why_none == "it is being made"


def test_places_are_beside_the_sources_and_in_the_cache_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/of/user")
    first, second = store.places(this_host())
    assert first.parent == Path(store.__file__).parents[1] / "compiled" / "__pycache__"
    assert second == Path("/of/user/sapwood") / first.name
    assert first.name.endswith(f"-{os.uname().machine}.code")
