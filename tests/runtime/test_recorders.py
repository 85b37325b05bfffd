"""What writes down what a broker does follows its settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.errors import ConfigurationError
from sapwood.pipeline.files import list_traces
from sapwood.runtime.config.settings import LogSettings, Settings, TraceSettings
from sapwood.runtime.recorders import make_journal, make_log, make_tracer
from sapwood.trace.schema import RunSettings


def test_a_journal_needs_a_data_directory() -> None:
    settings = Settings(id="B1")
    assert make_journal(settings, print, print, print) is None
    disk = Settings(id="B1", durability=type(settings.durability)(spool="disk"))
    with pytest.raises(ConfigurationError, match="no data directory"):
        make_journal(disk, print, print, print)


def test_a_log_is_written_as_the_settings_say() -> None:
    lines: list[str] = []
    log = make_log(Settings(id="B1", log=LogSettings(level="error", format="json")), lines.append)
    log.note("info", "link lost", {"neighbour": "B2"})
    log.note("error", "new session", {"reason": "a fault"})
    (line,) = map(json.loads, lines)
    assert (line["broker"], line["event"], line["reason"]) == ("B1", "new session", "a fault")


def test_no_trace_is_written_unless_there_is_a_directory_for_it() -> None:
    assert make_tracer(Settings(id="B1"), 1) is None


def test_files_of_a_broker_state_the_settling_time(tmp_path: Path) -> None:
    trace = TraceSettings(directory=str(tmp_path), run="r", settle_seconds=3.5)
    live = make_tracer(Settings(id="B1", trace=trace, advertisements="required"), 1)
    assert live is not None
    live.start(0.0)
    live.close(1.0)
    stated = list_traces(str(tmp_path)).settings()["r"]
    assert stated == RunSettings(settle_seconds=3.5, advertisements_required=True)
