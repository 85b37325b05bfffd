"""What stands for the package `sapwood` in a parcel: it unpacks the real one and becomes it.

This file is sent as `sapwood/__init__.py` (see `sapwood.pipeline.spark.shipping`) and runs where
nothing of Sapwood is there yet; so it imports nothing of it.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import zipfile
import zipimport
from pathlib import Path
from typing import Any

_PAYLOAD = "sapwood-payload.zip"


def unpack(parcel: str) -> Path:
    """Unpack the sources in a parcel, unless they are there; the folder of the package."""
    payload = zipimport.zipimporter(parcel).get_data(_PAYLOAD)
    name = f"code-{hashlib.blake2b(payload, digest_size=8).hexdigest()}"
    with zipfile.ZipFile(io.BytesIO(payload)) as sources:
        cache = _cache_folder(sources)
        folder: Path = cache["cache_folder"]() / name
        if folder.exists():
            cache["mark_used"](folder)
        else:
            cache["drop_unused"]("code-*")
            making = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder.parent))
            sources.extractall(making)
            try:
                making.rename(folder)
            except OSError:  # another worker was quicker
                shutil.rmtree(making)
                if not folder.exists():
                    raise
    return folder / "sapwood"


def _cache_folder(sources: zipfile.ZipFile) -> dict[str, Any]:
    """What `sapwood.pipeline.spark.cache_folder` has, which is among the sources still."""
    cache: dict[str, Any] = {}
    exec(sources.read("sapwood/pipeline/spark/cache_folder.py"), cache)  # noqa: S102 - our own
    return cache


if __name__ == "sapwood":
    _package = unpack(str(Path(__file__).parent.parent))
    __path__ = [str(_package)]
    __file__ = str(_package / "__init__.py")
    exec(compile((_package / "__init__.py").read_bytes(), __file__, "exec"))  # noqa: S102 - our own
