"""Use all kernels of a broker once: those of the matching engine, and those of long reads.

A broker does this before it listens (loading takes less than a second), so that nobody's first
notification waits for a compiler.
"""

from __future__ import annotations

from sapwood.fastpath.router import Router
from sapwood.fastpath.scanning import scan_long
from sapwood.filters.filter import Filter
from sapwood.matching import MatchIndex, warm
from sapwood.wire.frames import encode_head, encode_notification


def exercise() -> None:
    """Do once what compiled code does for a broker."""
    warm.exercise()
    index: MatchIndex[tuple[str, str]] = MatchIndex()
    index.add(("d", "1"), Filter("n >= 0"), "d")
    router: Router[tuple[str, ...]] = Router(index, tuple, 1)
    router.remember("p", b"\x92\xa1p", b"\x80", ("d",))
    heads = [encode_head("p", {"n": number}) for number in range(2)]
    data = b"".join(encode_notification(head, 1, 0.0) for head in heads)
    router.route("p", data, 0, 0.0, stops=True)
    scan_long(data)
