"""Machine code runs where all that it was made for is there, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sapwood.machine.processor import Host, this_host

HOST = Host("Linux", "x86_64", "cpython 3.12 64 bits", "Some CPU", ("avx2", "sse2"))


def test_this_host_can_run_what_was_made_here() -> None:
    assert this_host().why_not(this_host()) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"system": "Darwin"}, "it was made for Linux, and this is Darwin"),
        ({"machine": "aarch64"}, "it was made for x86_64, and this is aarch64"),
        (
            {"python": "cpython 3.13t 64 bits"},
            "it was made for cpython 3.12 64 bits, and this is cpython 3.13t 64 bits",
        ),
        (
            {"processor": "Other", "features": ("sse2",)},
            "it was made for a processor (Some CPU) that can do avx2, and this one (Other) cannot",
        ),
        ({"processor": "Newer", "features": ("avx2", "avx512f", "sse2")}, ""),
    ],
)
def test_a_foreign_host_is_told_apart(change: dict[str, object], reason: str) -> None:
    assert HOST.why_not(msgspec.structs.replace(HOST, **change)) == reason


def test_what_linux_tells_of_x86_and_of_arm_is_understood(tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: A CPU\nflags\t\t: sse2 avx2\n\nflags\t: x\n")
    assert (this_host(told).processor, this_host(told).features) == ("A CPU", ("avx2", "sse2"))
    told.write_text("processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n\n")
    assert (this_host(told).processor, this_host(told).features) == ("0xd0c", ("asimd", "fp"))
    assert this_host(tmp_path / "missing").features == ()
