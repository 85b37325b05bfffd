"""All benchmarks, by name; nothing heavy is loaded to know them."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from sapwood.bench.registry import BENCHMARKS, Benchmark, Options
from sapwood.bench.report import Report


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(BENCHMARKS[name].module).run)
    assert BENCHMARKS[name].about


def run(options: Options, progress: object) -> Report:
    """Stands for a benchmark."""
    return Report({"seed": options.seed}, [], [], "done", is_right=True)


def test_a_benchmark_is_the_run_of_its_module() -> None:
    report = Benchmark("this one", __name__).run(Options(seed=7), print)
    assert report.figures == {"seed": 7}


def test_knowing_them_is_light() -> None:
    code = "import sys, sapwood.bench.registry; print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"
