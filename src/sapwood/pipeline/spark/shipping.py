"""Send Sapwood along with a job, to workers whose Python has not got it.

The workers need the packages that Sapwood uses, not Sapwood. What is sent is a zip whose package
`sapwood` unpacks the real one into a folder of the worker's machine, named after its content, and
takes its place. So modules are files there, and what Numba compiles is kept for the next job and
shared by all workers of a machine; run from inside a zip, every process would compile all kernels
anew. Kernels that are compiled here go along: a worker with the same kind of processor, Python and
Numba need not compile at all.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING

from sapwood.pipeline.spark.cache_folder import cache_folder, drop_unused, mark_used
from sapwood.pipeline.spark.session import is_local, master_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from pyspark.sql import SparkSession

_PAYLOAD = "sapwood-payload.zip"
_LEFT_OUT = ("bench", "cli", "demo", "experiments", "gateway", "runtime")
_COMPILED = (".nbi", ".nbc")
"""What Numba keeps beside the sources."""
_EPOCH = (2000, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> None:
    """Let the workers of a session import the Sapwood that runs here.

    A session in this process needs nothing. Of any other, workers get it, also if they have one
    installed: theirs may be of another version.
    """
    if not is_local(master_of(spark)):
        spark.addArtifacts(str(parcel()), pyfile=True)


def parcel() -> Path:
    """The zip to send; made once per state of the sources."""
    payload = _zipped(_sources(resources.files("sapwood"), "sapwood"))
    name = hashlib.blake2b(payload, digest_size=8).hexdigest()
    path = cache_folder() / f"sapwood_{name}.zip"
    if not path.exists():
        drop_unused("sapwood_*.zip")
        shim = resources.files("sapwood.pipeline.spark").joinpath("shim.py").read_bytes()
        making = path.with_suffix(".making")
        making.write_bytes(_zipped([("sapwood/__init__.py", shim), (_PAYLOAD, payload)]))
        making.replace(path)
    return mark_used(path)


def _sources(node: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for child in sorted(node.iterdir(), key=lambda child: child.name):
        if child.is_dir():
            if child.name not in _LEFT_OUT:
                yield from _sources(child, f"{path}/{child.name}")
        elif node.name != "__pycache__" or child.name.endswith(_COMPILED):
            yield f"{path}/{child.name}", child.read_bytes()


def _zipped(files: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]) -> bytes:
    """A zip that is the same, byte for byte, for the same files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files:
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), content)
    return data.getvalue()


__all__ = ["parcel", "ship"]
