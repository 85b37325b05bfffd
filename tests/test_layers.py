"""Layers touch only what they may, and `import sapwood` stays light; each check can fail.

That imports point down is import-linter's to check (pyproject.toml, `make lint`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import purity
from expecting import expect_none

PROJECT_FILE = Path(__file__).resolve().parent.parent / "pyproject.toml"
SOURCE = PROJECT_FILE.parent / "src" / "sapwood"
MODULES = sorted(SOURCE.rglob("*.py"))
IMPURE_ON_PURPOSE: dict[str, str] = {
    "compiled/warm.py": "a command run at installation, which says how long it took",
}
"""Modules inside a pure layer that no broker runs, each with the reason."""


@pytest.mark.slow
def test_pure_layers_reach_nothing_outside() -> None:
    problems = [
        problem
        for path in MODULES
        if purity.layer_of(path, SOURCE) in purity.PURE_LAYERS
        and path.relative_to(SOURCE).as_posix() not in IMPURE_ON_PURPOSE
        for problem in purity.impurities(path)
    ]
    expect_none(problems)


def test_impurity_on_purpose_is_still_needed() -> None:
    expect_none([name for name in IMPURE_ON_PURPOSE if not purity.impurities(SOURCE / name)])


@pytest.mark.slow
def test_libraries_stay_in_their_layer() -> None:
    problems = [
        problem
        for path in MODULES
        for problem in purity.misplaced_libraries(path, purity.layer_of(path, SOURCE))
    ]
    expect_none(problems)


def test_layers_do_not_import_the_public_face() -> None:
    inside = [path for path in MODULES if purity.layer_of(path, SOURCE) not in {"cli", "testing"}]
    expect_none([problem for path in inside for problem in purity.facade_imports(path, SOURCE)])


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"llvmlite", "numba", "numpy", "pandas", "pyarrow", "pyspark", "starlette", "uvicorn"}


@pytest.mark.parametrize(
    "code",
    [
        "import sapwood",
        "import sapwood; sapwood.Filter('price > 100').matches({'price': 120.5})",
        "from sapwood.cli.main import build_app; build_app()",
    ],
    ids=["import", "filter", "command"],
)
def test_light_use_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code) & HEAVY == set()


def test_a_heavy_module_would_be_seen() -> None:
    assert "numpy" in loaded_by("import numpy")


# --- the checks ---------------------------------------------------------------------------


def sample(folder: Path, text: str) -> Path:
    path = folder / "sample.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from os import path",
        "import logging.handlers",
        "from asyncio import sleep",
        "from random import random",
        "import random\nrandom.choice([1])",
        "import random as dice\ndice.choice([1])",
        "import random\nsource = random.Random()",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now()",
    ],
)
def test_an_impurity_is_found(tmp_path: Path, text: str) -> None:
    assert purity.impurities(sample(tmp_path, text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "import random\ndef draw(source: random.Random) -> float:\n    return source.random()",
        "from random import Random\nsource = Random(7)",
        "import numpy as np\ndef draw(source: np.random.Generator) -> float: ...",
        "def draw(random: Random) -> float:\n    return random.uniform(0, 1)",
        "from datetime import timedelta",
        "def f(now: float, time: float) -> float:\n    return now + time",
    ],
)
def test_what_is_injected_is_pure(tmp_path: Path, text: str) -> None:
    assert purity.impurities(sample(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("importer", "imported", "kept"),
    [
        ("matching", "filters", True),
        ("filters", "matching", False),
        ("matching", "routing", False),
        ("filters", "unheard_of", False),
    ],
)
def test_the_contract_of_layers_can_fail(
    tmp_path: Path, importer: str, imported: str, kept: bool
) -> None:
    package = tmp_path / "sapwood"
    for name in ("", importer, imported):
        (package / name).mkdir(exist_ok=True)
        (package / name / "__init__.py").touch()
    (package / "__main__.py").touch()
    (package / importer / "__init__.py").write_text(f"import sapwood.{imported}\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", PROJECT_FILE],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ("1 kept, 0 broken" in done.stdout, "0 kept, 1 broken" in done.stdout) == (
        kept,
        not kept,
    )


def test_a_misplaced_library_is_found(tmp_path: Path) -> None:
    path = sample(tmp_path, "def f():\n    from pyspark.sql import SparkSession\n")
    assert purity.misplaced_libraries(path, "pipeline") == []
    assert purity.misplaced_libraries(path, "cli") == [
        f"{path}:2: only pipeline may import pyspark"
    ]


def test_an_import_of_the_face_is_found(tmp_path: Path) -> None:
    (tmp_path / "filters").mkdir()
    bad = sample(tmp_path, f"from {tmp_path.name} import Filter\nimport {tmp_path.name}\n")
    assert len(purity.facade_imports(bad, tmp_path)) == 2
    good = sample(tmp_path, f"from {tmp_path.name}.filters import Filter\n")
    assert purity.facade_imports(good, tmp_path) == []
