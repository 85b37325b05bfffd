"""The file systems that Spark reads, for what looks at files here: `s3a://`, `hdfs://` and others.

Spark reads rows through Hadoop's file systems. Were footers read through those of Arrow, a place
would have to be known to both, by the same name and with the same credentials, and few are. So
everything that is not on this machine is listed and read through the session that reads the rows.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyarrow import fs

from sapwood.pipeline.spark.errors import cause_of, job_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

_UNKNOWN = ("No FileSystem for scheme", "ClassNotFoundException")


def filesystem_of(spark: SparkSession, uri: str) -> fs.PyFileSystem:
    """The file system of a URI, as Arrow has them; its paths are whole URIs."""
    return fs.PyFileSystem(_Handler(spark, uri))


class _Handler(fs.FileSystemHandler):  # type: ignore[misc]
    """What Arrow asks of a file system when it reads; nothing here writes."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        opened: Any = spark
        self._jvm = opened.sparkContext._jvm  # noqa: SLF001 - there is no other way to Java
        self._settings = opened._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - same
        self._files = self._asked(lambda: self._path(uri).getFileSystem(self._settings))

    def _path(self, uri: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    def _asked(self, question: Callable[[], Result]) -> Result:
        """What Hadoop answers; an OSError in one line if it fails."""
        try:
            return question()
        except job_errors() as problem:
            reason = cause_of(problem)
            if any(word in str(problem) for word in _UNKNOWN):
                version = self._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
                reason += (
                    "; Spark needs a package for such places, such as "
                    f"--packages org.apache.hadoop:hadoop-aws:{version} for s3a://"
                )
            raise OSError(reason) from None

    def get_type_name(self) -> str:
        return "hadoop"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        if not self._asked(lambda: self._files.exists(self._path(path))):
            return fs.FileInfo(path, fs.FileType.NotFound)
        return _info(path, self._asked(lambda: self._files.getFileStatus(self._path(path))))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """All files below; folders are not listed, as nobody asks for them."""
        found = []
        listed = self._asked(
            lambda: self._files.listFiles(self._path(selector.base_dir), selector.recursive)
        )
        while self._asked(listed.hasNext):
            status = self._asked(listed.next)
            found.append(_info(status.getPath().toString(), status))
        return found

    def open_input_file(self, path: str) -> Any:
        length = self._asked(lambda: self._files.getFileStatus(self._path(path)).getLen())
        stream = self._asked(lambda: self._files.open(self._path(path)))
        return pa.PythonFile(_Opened(self._jvm, stream, length, self._asked), mode="r")

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise OSError("these files are only read here")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


def _info(path: str, status: Any) -> fs.FileInfo:
    if status.isDirectory():
        return fs.FileInfo(path, fs.FileType.Directory)
    return fs.FileInfo(path, fs.FileType.File, size=int(status.getLen()))


class _Opened(io.RawIOBase):
    """A file of Hadoop's, read piece by piece."""

    def __init__(
        self, jvm: Any, stream: Any, length: int, asked: Callable[[Callable[[], Any]], Any]
    ) -> None:
        self._jvm, self._stream, self._length, self._asked = jvm, stream, length, asked
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._length - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return b""

        def question() -> Any:
            self._stream.seek(self._at)
            return self._jvm.org.apache.commons.io.IOUtils.toByteArray(self._stream, wanted)

        found = bytes(self._asked(question))
        self._at += len(found)
        return found

    def close(self) -> None:
        if not self.closed:
            self._asked(self._stream.close)
        super().close()


__all__ = ["filesystem_of"]
