"""The path of a notification, in a line."""

from __future__ import annotations

from typing import Any

from sapwood.pipeline.auditing.paths import path_text


def hop(kind: str, at: float, broker: str, **columns: Any) -> dict[str, Any]:
    usual = {"source": None, "target": None, "client": None, "message": None}
    return {"kind": kind, "at": at, "broker": broker, **usual, **columns}


def test_a_path_is_told_as_far_as_it_concerns_the_client() -> None:
    path = [
        hop("published", 1.0, "B1"),
        hop("forwarded", 1.0, "B1", target="B2"),
        hop("delivered", 1.5, "B2", client="eve.1"),
        hop("dropped", 1.75, "B2", message="expired"),
        hop("delivered", 2.0, "B2", client="ann.1"),
    ]
    assert path_text(path, "ann.1") == (
        "published at B1 at 1 s; B1 to B2 at 1 s; dropped at B2 (expired) at 1.75 s; "
        "delivered at B2 at 2 s"
    )
    assert path_text(None, "ann.1") == "no broker recorded it"
