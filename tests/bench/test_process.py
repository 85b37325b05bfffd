"""Functions in processes of their own."""

from __future__ import annotations

import pytest

from sapwood.bench.process import call_fresh, main, time_start


def test_a_function_answers_from_another_process() -> None:
    assert call_fresh("math:factorial", 20) == 2432902008176640000
    assert call_fresh("builtins:sorted", ["b", "a"]) == ["a", "b"]
    assert call_fresh("builtins:str", {"a": [1, None]}) == "{'a': [1, None]}"


def test_a_failure_there_is_a_failure_here(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="math:sqrt failed with status 1; see above"):
        call_fresh("math:sqrt", -1)
    assert "ValueError" in capfd.readouterr().err


def test_the_other_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["math:sqrt", "4"]) == 0
    assert capsys.readouterr().out == "2.0"


def interrupt(_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_there_is_one_here() -> None:
    assert main([f"{__name__}:interrupt", "1"]) == 130
    with pytest.raises(KeyboardInterrupt):
        call_fresh("os:_exit", 130)


def test_the_start_of_a_process_is_timed(capfd: pytest.CaptureFixture[str]) -> None:
    start = time_start("sum(range(1000))")
    assert 0 < start.processor_seconds < 60
    assert 0 < start.seconds < 60
    with pytest.raises(RuntimeError, match="has failed; see above"):
        time_start("1 / 0")
    assert "ZeroDivisionError" in capfd.readouterr().err
