"""Run a function in a process of its own, so that its memory and its start are its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from time import perf_counter
from typing import Any, NamedTuple

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


class Start(NamedTuple):
    """How long something took from the start of a process: by the clock, and on the processor."""

    seconds: float
    processor_seconds: float


def time_start(code: str) -> Start:
    """Run Python code in a fresh interpreter; the time until it is done, interpreter included."""
    code = f"{code}\nimport time\nprint(time.process_time(), flush=True)"
    start = perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        line = started.stdout.readline()
        seconds = perf_counter() - start
    if not line:
        raise RuntimeError("the code that was to be timed has failed; see above")
    return Start(seconds, float(line))


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
