"""Install Sapwood and the given extras into the running virtual environment.

The Makefile calls this instead of pip, for two reasons: it says before and after how much
there is to download, which pip alone does not add up, and it turns a failed installation
into one line that names the remedy. Only the standard library is available here.

Usage: python tools/install.py [EXTRA …]
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"

# Download of each extra with all it pulls in, in MB, measured on Linux x86-64 with an empty
# cache; "" is the base. What is really fetched is added up and printed at the end.
EXPECTED_MB = {
    "": 6,
    "matching": 80,
    "network": 6,
    "trace": 55,
    "spark": 530,
    "dev": 118,
    "docs": 6,
}

_FETCH_LINE = re.compile(
    r"^\s*(?P<how>Downloading|Using cached) (?P<name>\S+) \((?P<size>[\d.]+) (?P<unit>[kMG]?B)\)"
)
_LOCAL_LINE = re.compile(r"^\s*Processing (?P<path>\S+\.(?:whl|tar\.gz|zip))")
_INSTALLED_LINE = re.compile(r"^Successfully installed (?P<names>.+)$")
_UNIT_BYTES = {"B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3}


@dataclass
class Tally:
    """What pip's output has said so far."""

    packages: int = 0
    downloaded_bytes: float = 0
    local_bytes: float = 0

    def read(self, line: str) -> str | None:
        """Count what one line of pip's output reports; return a line worth showing."""
        if fetched := _FETCH_LINE.match(line):
            size = float(fetched["size"]) * _UNIT_BYTES[fetched["unit"]]
            if fetched["how"] == "Using cached":
                self.local_bytes += size
                return None
            self.downloaded_bytes += size
            return f"  {fetched['name']} ({fetched['size']} {fetched['unit']})"
        if local := _LOCAL_LINE.match(line):
            path = Path(local["path"])
            self.local_bytes += path.stat().st_size if path.is_file() else 0
        elif installed := _INSTALLED_LINE.match(line):
            self.packages += len(installed["names"].split())
        return None

    def summary(self) -> str:
        """What was done, in one line."""
        parts = [
            f"installed {self.packages} packages",
            f"downloaded {self.downloaded_bytes / 1e6:.1f} MB",
        ]
        if self.local_bytes:
            parts.append(f"{self.local_bytes / 1e6:.1f} MB were already on this machine")
        return ", ".join(parts)


def pip_command(arguments: Iterable[str]) -> list[str]:
    """The pip call that installs `arguments` with our pins."""
    options = ["--disable-pip-version-check", "--progress-bar", "off", "-c", str(CONSTRAINTS)]
    return [sys.executable, "-m", "pip", "install", *options, *arguments]


def run_pip(arguments: Sequence[str], tally: Tally) -> list[str]:
    """Run pip, showing downloads as they happen; return its error lines, empty if it worked."""
    errors: list[str] = []
    with subprocess.Popen(  # noqa: S603 - our own pip, arguments from this file
        pip_command(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in _lines(pip):
            if shown := tally.read(line):
                print(shown, flush=True)
            if line.lstrip().startswith(("ERROR", "error:")):
                errors.append(line.rstrip())
    if pip.returncode and not errors:
        errors.append(f"pip ended with status {pip.returncode}")
    return errors if pip.returncode else []


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    if process.stdout is not None:
        yield from process.stdout


def main(extras: Sequence[str]) -> int:
    """Install; return the exit status."""
    unknown = [extra for extra in extras if extra not in EXPECTED_MB or not extra]
    if unknown:
        known = ", ".join(extra for extra in EXPECTED_MB if extra)
        print(f"error: unknown extra {unknown[0]!r}; choose from {known}", file=sys.stderr)
        return 2
    what = f"sapwood[{','.join(extras)}]" if extras else "sapwood"
    expected_mb = EXPECTED_MB[""] + sum(EXPECTED_MB[extra] for extra in extras)
    print(
        f"Installing {what} into {Path(sys.prefix).name}: "
        f"about {expected_mb} MB to download if nothing is cached",
        flush=True,
    )
    tally = Tally()
    target = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    # The build backend first and into this environment, so that it is counted too and an
    # editable build needs no environment (and no download) of its own.
    errors = run_pip(["setuptools"], tally) or run_pip(
        ["--no-build-isolation", "--editable", target], tally
    )
    if errors:
        print("\n".join(errors), file=sys.stderr)
        print(
            "error: the installation failed; see pip's words above. "
            "Check the network (or PIP_INDEX_URL), then run the same command again.",
            file=sys.stderr,
        )
        return 1
    print(f"Done: {tally.summary()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
