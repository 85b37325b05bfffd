"""Machines that lack something, for tests of what is done then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def hide_java(folder: Path) -> dict[str, str]:
    """An environment with all commands but Java's."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for tool in Path(place).iterdir():
            if "java" not in tool.name and not (folder / tool.name).exists():
                (folder / tool.name).symlink_to(tool)
    hidden = {"JAVA_HOME", "JDK_HOME", "SPARK_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    environment = kept | {"PATH": str(folder)}
    assert shutil.which("java", path=environment["PATH"]) is None
    return environment
