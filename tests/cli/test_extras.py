"""What is not installed is named in one error, not in one after the other."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys

import pytest

from sapwood.cli import extras, main
from sapwood.cli.output import ExitStatus

REQUIREMENTS = [
    "msgspec>=0.19",
    'numba>=0.61; extra == "spark"',
    'pandas>=2; extra == "spark"',
    'pyspark>=4; extra == "spark"',
    'numba>=0.61; extra == "matching"',
    'numpy>=2; extra == "matching"',
    'prometheus-client>=0.21; extra == "network"',
    'pyarrow>=20; extra == "trace"',
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The modules that are there; none, unless a test says otherwise."""
    there: set[str] = set()
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: REQUIREMENTS)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: object() if name in there else None
    )
    return there


def test_all_that_a_command_needs_is_named(installed: set[str]) -> None:
    assert extras.missing_message("numpy", ["broker", "--id", "B1", "--trace=T"]) == (
        "numba, numpy, prometheus-client, pyarrow are not installed; "
        "run: pip install 'sapwood[matching,network,trace]'"
    )
    installed.update({"numba", "prometheus_client"})
    assert extras.missing_message("numpy", ["broker", "--trace", "T"]) == (
        "numpy, pyarrow are not installed; run: pip install 'sapwood[matching,trace]'"
    )


def test_what_another_extra_of_the_command_brings_is_not_named_twice(installed: set[str]) -> None:
    assert extras.missing_message("numba.core", ["audit", "T"]) == (
        "numba, pandas, pyspark are not installed; run: pip install 'sapwood[spark]'"
    )


def test_of_other_commands_the_smallest_extra_is_named(installed: set[str]) -> None:
    installed.add("numpy")
    assert extras.missing_message("numba.core", ["bench", "audit"]) == (
        "numba is not installed; run: pip install 'sapwood[matching]'"
    )
    assert extras.missing_message("prometheus_client", []) == (
        "prometheus-client is not installed; run: pip install 'sapwood[network]'"
    )


def test_what_no_extra_brings_is_a_bug(
    installed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert extras.missing_message("msgspec", ["broker"]) is None

    def fail(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'gone'", name="gone")

    monkeypatch.setattr(main, "build_app", lambda: fail)
    with pytest.raises(ModuleNotFoundError, match="gone"):
        main.run(["broker"])


def test_the_table_names_commands_and_extras_that_exist() -> None:
    assert {name for name in extras.NEEDED if not name.startswith("-")} <= set(main.COMMANDS)
    provided = importlib.metadata.metadata("sapwood").get_all("Provides-Extra") or []
    assert {extra for needed in extras.NEEDED.values() for extra in needed} <= set(provided)


WITHOUT = """
import sys
for name in ("numba", "numpy", "prometheus_client", "pyarrow", "starlette", "uvicorn", "uvloop"):
    sys.modules[name] = None
import importlib.util
importlib.util.find_spec = lambda name: sys.modules.get(name)
from sapwood.cli import main
main.available_commands = lambda: list(main.COMMANDS)
sys.exit(main.run(["broker", "--id", "B1", "--listen", "127.0.0.1:0"]))
"""


def test_a_broker_without_extras_names_all_of_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (ExitStatus.WRONG_USE, "")
    assert done.stderr == (
        "error: numba, numpy, prometheus-client, starlette, uvicorn, uvloop are not installed; "
        "run: pip install 'sapwood[matching,network]'\n"
    )
