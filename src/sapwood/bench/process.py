"""Run a function in a process of its own, so that its memory and its start are its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from time import perf_counter
from typing import Any

_INTERRUPTED = 130


def call_fresh(function: str, argument: Any) -> Any:
    """What a function (``module:name``) says to an argument, in a fresh interpreter.

    Both have to be plain enough for JSON. What it writes to stderr is seen.
    """
    done = subprocess.run(  # noqa: S603 - our own interpreter and modules
        [sys.executable, "-m", __name__, function, json.dumps(argument)],
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise RuntimeError(f"{function} failed with status {done.returncode}; see above")
    return json.loads(done.stdout)


def seconds_until_first_output(code: str) -> float:
    """Seconds from the start of a fresh interpreter until Python code prints its first line."""
    start = perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        line = started.stdout.readline()
        seconds = perf_counter() - start
    if not line:
        raise RuntimeError(f"nothing was printed by: {code}")
    return seconds


def main(arguments: list[str]) -> int:
    """The other end of `call_fresh`."""
    function, argument = arguments
    module, _, name = function.partition(":")
    try:
        answer = getattr(importlib.import_module(module), name)(json.loads(argument))
    except KeyboardInterrupt:
        return _INTERRUPTED
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
