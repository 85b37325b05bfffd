"""Spark's daemon of Python workers, without tracebacks of broken pipes on a user's terminal.

When a session ends, or a task before it has read all that its worker has to say, Java closes the
connection. A worker that notices writes the failure into that very connection, fails again, and
prints a traceback; whether it does is a race. Nobody is there to be told, and Java knows what it
did: so the worker ends without a word. Set by `spark.python.daemon.module`.
"""

from __future__ import annotations

import os
from typing import Any

from pyspark import daemon

_worker = daemon.worker


def worker(sock: Any, authenticated: bool) -> int:
    """Work for Java until it hangs up."""
    try:
        return int(_worker(sock, authenticated))
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # as Spark's own does, after the traceback


def main() -> None:
    """Be the daemon."""
    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
