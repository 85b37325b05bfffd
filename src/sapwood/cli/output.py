"""How commands talk: data on stdout, notices on stderr, exit status 0, 1 or 2.

DESIGN: 0 done or yes, 1 the answer is no, 2 wrong use.
"""

from __future__ import annotations

import json
import sys
from enum import IntEnum


class ExitStatus(IntEnum):
    """What a command's exit status means."""

    DONE = 0
    NO = 1
    WRONG_USE = 2
    INTERRUPTED = 130


def print_json(value: object) -> None:
    """Print one value as one line of JSON, keys in the order they were given."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def notice(text: str) -> None:
    """Tell the person at the terminal something that is not data."""
    print(text, file=sys.stderr)
