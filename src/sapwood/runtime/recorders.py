"""What writes down what a broker does, by its settings: journal, log and trace."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sapwood.errors import ConfigurationError
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.journal_files import JournalFiles
from sapwood.runtime.logs import Log, Write
from sapwood.runtime.tracing import Tracer
from sapwood.trace.schema import RunSettings


def make_journal(
    settings: Settings,
    synced: Callable[[int], None],
    fetched: Callable[[int, bytes], None],
    failed: Callable[[str], None],
) -> JournalFiles | None:
    """What writes the journal of a broker, if it keeps one."""
    if not settings.durability.is_on:
        return None
    if not settings.data:
        raise ConfigurationError(
            "durability.spool is 'disk', and there is no data directory to keep it in; set data "
            "(--data)"
        )
    return JournalFiles(Path(settings.data) / "journal", synced, fetched, failed)


def make_log(settings: Settings, write: Write) -> Log:
    """What writes the log of a broker."""
    return Log(settings.id, settings.log.level, settings.log.format, time.time, write)


def make_tracer(settings: Settings, session: int) -> Tracer | None:
    """What writes the trace of a broker, if one is wanted."""
    if not settings.trace.directory:
        return None
    stated = RunSettings(
        settle_seconds=settings.trace.settle_seconds,
        advertisements_required=settings.advertisements == "required",
    )
    return Tracer(settings.trace, settings.id, session, stated)
