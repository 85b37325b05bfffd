"""The command as a whole: help, wrong use, errors without tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer

from sapwood.cli import main
from sapwood.cli.output import ExitStatus
from sapwood.errors import SapwoodError


def app_that_raises(error: BaseException) -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def fail() -> None:
        raise error

    return app


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == ExitStatus.DONE
    out = capsys.readouterr().out
    for name in main.available_commands():
        assert f"  {name} " in out


@pytest.mark.parametrize("name", main.available_commands())
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([name, "--help"]) == ExitStatus.DONE
    assert capsys.readouterr().out.startswith(f"Usage: sapwood {name}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vresion"], "error: No such command 'vresion'"),
        (["version", "--jsno"], "error: No such option"),
        (["filter", "check"], "error: Missing argument 'TEXT'; see 'sapwood filter check --help'"),
        (["version", "extra"], "error: Got unexpected extra argument"),
    ],
)
def test_wrong_use_is_one_line_with_the_remedy(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == ExitStatus.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert "--help'" in err


@pytest.mark.parametrize("arguments", [[], ["filter"]])
def test_a_group_alone_shows_its_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == ExitStatus.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: sapwood ")


def test_an_error_of_sapwood_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "build_app", lambda: app_that_raises(SapwoodError("no such key")))
    assert main.run([]) == ExitStatus.WRONG_USE
    assert capsys.readouterr() == ("", "error: no such key\n")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "build_app", lambda: app_that_raises(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main.run([])


def test_the_shell_is_told_how_to_complete_and_what_is_possible() -> None:
    def sapwood(*arguments: str, **environment: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "sapwood", *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    instruction = {"_SAPWOOD_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert sapwood(COMP_WORDS="sapwood pub", **instruction).split() == ["publish"]
    assert "_SAPWOOD_COMPLETE=complete_bash" in sapwood(_SAPWOOD_COMPLETE="source_bash")


def test_help_offers_completion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == ExitStatus.DONE
    out = capsys.readouterr().out
    assert "--install-completion" in out
    assert "--show-completion" in out


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "build_app", lambda: app_that_raises(KeyboardInterrupt()))
    assert main.run([]) == ExitStatus.INTERRUPTED
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("sapwood ")


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m sapwood --help | head -n 0; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
