"""Which files make up a trace, and whether they can be read: known before a long job starts.

Only footers are read here. They say who wrote a file, of which version, with which columns, and
between which steps of which broker its rows lie: enough to refuse what is damaged or foreign, and
to see a file that is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sapwood.errors import TraceError, TraceFileError
from sapwood.pipeline.spark.hadoop_files import filesystem_of
from sapwood.pipeline.spark.session import is_remote
from sapwood.trace.files.reader import settings_of
from sapwood.trace.files.writer import SUFFIX
from sapwood.trace.schema import COLUMNS, REQUIRED, RunSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAKING: Final = f"{SUFFIX}.tmp"
_OPEN: Final = ".open"
_SHOWN_MAX: Final = 5


class Span(NamedTuple):
    """A row group: whose rows, between which steps; owner None if it holds rows of several."""

    owner: tuple[str, str, int] | None
    first_step: int
    last_step: int
    rows: int


class TraceFile(NamedTuple):
    """One whole file of a trace."""

    path: str
    """As Spark takes it."""

    rows: int
    settings: RunSettings
    columns: tuple[tuple[str, str], ...]
    """Name and Arrow type of each column."""

    spans: tuple[Span, ...]
    runs: tuple[str, ...]
    """The runs it holds rows of."""


class Damage(NamedTuple):
    """A file that cannot be read, and why."""

    path: str
    problem: str


class Listing(NamedTuple):
    """What lies below a directory."""

    directory: str
    files: tuple[TraceFile, ...]
    damaged: tuple[Damage, ...]
    unfinished: tuple[str, ...]
    """Files in the making, and markers of sessions that have not closed their trace."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    def settings(self) -> dict[str, RunSettings]:
        """What the files say about each run; where they differ, the more careful."""
        found: dict[str, RunSettings] = {}
        for file in self.files:
            for run in file.runs:
                known = found.get(run)
                found[run] = file.settings if known is None else known.joined(file.settings)
        return found


def is_here(directory: str) -> bool:
    """Whether a directory is on this machine, so that nothing is needed to look into it."""
    return "://" not in directory or urlsplit(directory).scheme == "file"


def list_traces(directory: str, spark: SparkSession | None = None) -> Listing:
    """Everything below a directory: a path, or a URI that Spark reads, given a session of it.

    Without one, or over Spark Connect, a URI has to be one that Arrow knows.
    """
    filesystem, root, prefix = _open_directory(str(directory), spark)
    whole, unfinished = [], []
    for path in sorted(_walk(filesystem, root)):
        name = path.rpartition("/")[2]
        if name.startswith(".") and name.endswith((_MAKING, _OPEN)):
            unfinished.append(path)
        elif name.endswith(SUFFIX) and not name.startswith((".", "_")):
            whole.append(path)
    files, damaged = [], []
    for path in whole:
        try:
            files.append(_inspect(filesystem, path, prefix))
        except TraceFileError as problem:
            damaged.append(Damage(path, str(problem)))
    return Listing(str(directory), tuple(files), tuple(damaged), tuple(unfinished))


def check_listing(
    listing: Listing, *, skip_damaged: bool = False, unfinished: bool = False
) -> list[str]:
    """Refuse what cannot be judged as it is; what is left out because it was asked for, in words.

    `skip_damaged` leaves damaged files out; `unfinished` takes a trace that is still written.
    """
    if listing.unfinished and not unfinished:
        raise TraceFileError(
            f"{_shown(listing.unfinished)}: this trace is still being written, or its broker "
            "died; wait until it is closed, or take what is whole with --unfinished"
        )
    if listing.damaged and not skip_damaged:
        first, count = listing.damaged[0], len(listing.damaged)
        more = f" (and {count - 1} more: {_shown([d.path for d in listing.damaged[1:]])})"
        raise TraceFileError(
            f"{first.problem}{more if count > 1 else ''}; --skip-damaged leaves such files out"
        )
    if not listing.files:
        raise TraceFileError(f"{listing.directory} holds no trace: no whole {SUFFIX} file below it")
    if not listing.rows:
        raise TraceFileError(f"{listing.directory} holds no trace: its files have no rows")
    return [f"left out: {damage.problem}" for damage in listing.damaged]


def doubtful(files: Iterable[TraceFile]) -> list[TraceFile]:
    """The files whose footers do not rule out that a row is there twice."""
    spans = [
        (span.owner or ("", "", 0), span.first_step, span, file)
        for file in files
        for span in file.spans
    ]
    found: dict[str, TraceFile] = {}
    last: tuple[Span, TraceFile] | None = None
    for _, _, span, file in sorted(spans, key=lambda item: item[:2]):
        if span.owner is None or span.rows > span.last_step - span.first_step + 1:
            found[file.path] = file
        elif last is not None and last[0].owner == span.owner:
            if span.first_step <= last[0].last_step:
                found[file.path], found[last[1].path] = file, last[1]
            if span.last_step < last[0].last_step:
                continue
        last = span, file
    return list(found.values())


def _shown(paths: Sequence[str]) -> str:
    names = ", ".join(paths[:_SHOWN_MAX])
    return names if len(paths) <= _SHOWN_MAX else f"{names}, … ({len(paths)} in all)"


# --- where files are --------------------------------------------------------------------------


def _open_directory(directory: str, spark: SparkSession | None) -> tuple[Any, str, str]:
    """The file system, the path on it, and what a path needs in front to be a URI for Spark."""
    parts = urlsplit(directory)
    try:
        if "://" not in directory and parts.scheme != "file":
            filesystem, root, prefix = fs.LocalFileSystem(), directory, "file://"
        elif parts.scheme == "file":
            filesystem, root, prefix = fs.LocalFileSystem(), unquote(parts.path), "file://"
        elif spark is not None and not is_remote(spark):
            filesystem, root, prefix = filesystem_of(spark, directory), directory, ""
        else:
            filesystem, root = fs.FileSystem.from_uri(directory)
            has_host = not root.startswith("/") or parts.scheme != "hdfs"
            prefix = f"{parts.scheme}://" if has_host else f"{parts.scheme}://{parts.netloc}"
        info = filesystem.get_file_info(root)
    except (OSError, ValueError, pa.ArrowException) as problem:
        reason = str(problem).partition("\n")[0]
        raise TraceFileError(f"{directory} cannot be opened: {reason}") from None
    if info.type == fs.FileType.NotFound:
        raise TraceFileError(f"{directory} does not exist; name a directory with traces")
    if info.type != fs.FileType.Directory:
        raise TraceFileError(f"{directory} is no directory; name the one the trace lies in")
    return filesystem, _absolute(root) if prefix == "file://" else root, prefix


def _absolute(path: str) -> str:
    from pathlib import Path  # noqa: PLC0415 - only for local paths

    return str(Path(path).absolute())


def _walk(filesystem: Any, root: str) -> Iterator[str]:
    for info in filesystem.get_file_info(fs.FileSelector(root, recursive=True)):
        if info.type == fs.FileType.File:
            yield info.path


# --- what a footer says -----------------------------------------------------------------------


def _inspect(filesystem: Any, path: str, prefix: str) -> TraceFile:
    try:
        with filesystem.open_input_file(path) as opened:
            file = pq.ParquetFile(opened)
            settings = settings_of(file, path)
            columns = _columns(file.schema_arrow, path)
            spans = tuple(_spans(file.metadata, path))
            runs = tuple(_runs(file, spans))
            return TraceFile(prefix + path, file.metadata.num_rows, settings, columns, spans, runs)
    except TraceError:
        raise
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError) as problem:
        reason = str(problem).partition("\n")[0]
        raise TraceFileError(f"{path} cannot be read: {reason}") from None


def _runs(file: Any, spans: Iterable[Span]) -> Iterable[str]:
    owners = [span.owner for span in spans]
    if all(owner is not None for owner in owners):
        return dict.fromkeys(owner[0] for owner in owners if owner is not None)
    values = file.read(columns=["run"]).column("run").unique().to_pylist()
    return sorted(str(value) for value in values if value is not None)


def _columns(schema: Any, path: str) -> tuple[tuple[str, str], ...]:
    names = list(schema.names)
    for name in REQUIRED:
        if name not in names:
            raise TraceFileError(f"{path}: there is no column {name!r}, which every row needs")
    for name in names:
        if names.count(name) > 1:
            raise TraceFileError(f"{path}: there are several columns {name!r}")
    return tuple((name, _kind(schema.field(name).type, name, path)) for name in names)


def _kind(found: Any, name: str, path: str) -> str:
    """The type of a column, by the contract's name for it where it is the very same."""
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    text = types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
    wanted = COLUMNS.get(name)
    fits = {
        None: True,
        "string": text or types.is_null(found),
        "int64": types.is_null(found) or (types.is_integer(found) and found != pa.uint64()),
        "double": types.is_null(found) or types.is_floating(found) or types.is_integer(found),
    }
    if not fits[wanted]:
        raise TraceFileError(f"{path}: column {name!r} is {found}; it should be {wanted}")
    return "string" if text else str(found)


def _spans(metadata: Any, path: str) -> Iterator[Span]:
    schema = metadata.schema
    places = {schema.column(index).path: index for index in range(len(schema))}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        known = {name: group.column(places[name]).statistics for name in REQUIRED}
        for name, statistics in known.items():
            if statistics is not None and statistics.has_null_count and statistics.null_count:
                raise TraceFileError(f"{path}: column {name!r} has nulls; every row needs it")
        if group.num_rows:
            yield _span(known, group.num_rows)


def _span(known: dict[str, Any], rows: int) -> Span:
    bounds = [
        (known[name].min, known[name].max)
        for name in ("run", "broker", "session", "step")
        if known[name] is not None and known[name].has_min_max
    ]
    if len(bounds) < 4 or any(low != high for low, high in bounds[:3]):
        return Span(None, 0, 0, rows)
    run, broker, session = (low for low, _ in bounds[:3])
    return Span((str(run), str(broker), int(session)), int(bounds[3][0]), int(bounds[3][1]), rows)
