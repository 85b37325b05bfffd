"""What stands in a TOML file that an operator wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sapwood.errors import ConfigurationError


def read_file(file: Path) -> dict[str, Any]:
    """The values in a file, as they stand there; what is wrong is said with the place."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        what = problem.strerror or str(problem)
        raise ConfigurationError(f"cannot be read: {what}", origin=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigurationError(f"is not TOML: {problem}", origin=str(file)) from None
