"""The asyncio modules that drive a broker move bytes and decide nothing; each check can fail.

What a broker does about links, membership and clients is decided in ``sapwood.protocol``. The
modules here know its door (events and effects), its configuration, and a few names for the life of
the process; states of links and attributes of peers are read by what takes a status, and by
nobody else.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from expecting import expect_none
from sapwood.protocol import ports
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer

RUNTIME = Path(__file__).resolve().parent.parent / "src" / "sapwood" / "runtime"

DRIVERS = ("clock.py", "data_directory.py", "driver.py", "endpoint.py", "server.py")
"""What drives a broker, and knows asyncio, files or the clock."""

LINES_MAX = 840
"""Of all of them together. Before the node decided there were 1,560 in eight modules."""

DOOR = frozenset(name for name in vars(ports) if not name.startswith("_"))
ALLOWED = {
    "sapwood.protocol.ports": DOOR,
    "sapwood.protocol.events": frozenset({"Tick"}),
    "sapwood.protocol.node": frozenset({"Node"}),
    "sapwood.protocol.node_config": frozenset({"NodeConfig"}),
    "sapwood.protocol.accounts": frozenset({"Accounts"}),
    "sapwood.protocol.link.line": frozenset({"HANDSHAKE_SECONDS"}),
}

USUAL_WORDS = frozenset(
    {
        "address",
        "close",
        "connect",
        "count",
        "former",
        "name",
        "number",
        "order",
        "problem",
        "routing",
        "session",
    }
    | {"take"}
)
"""Words of links that mean other things in a driver too."""

COUNTS = frozenset({"frames_in", "frames_out"})
"""Of which rates are made."""

PROTOCOL_ATTRIBUTES = (
    frozenset(
        name
        for kind in (Peer, Line, Channel)
        for name in (*getattr(kind, "__slots__", ()), *vars(kind))
        if not name.startswith("_")
    )
    - USUAL_WORDS
    - COUNTS
)
"""What a peer, a line and a stream are made of."""


def forbidden_imports(path: Path) -> list[str]:
    """Names that a driver takes from the protocol and may not."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sapwood.protocol"):
            allowed = ALLOWED.get(node.module or "", frozenset())
            found += [
                f"{path.name}:{node.lineno}: {node.module}.{alias.name}"
                for alias in node.names
                if alias.name not in allowed
            ]
        elif isinstance(node, ast.Import):
            found += [
                f"{path.name}:{node.lineno}: {alias.name}"
                for alias in node.names
                if alias.name.startswith("sapwood.protocol")
            ]
    return found


def protocol_states(path: Path) -> list[str]:
    """Places where a driver looks at states of links, or into peers, lines and streams."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        name = ""
        if isinstance(node, ast.Name) and node.id.endswith("State"):
            name = node.id
        elif isinstance(node, ast.Attribute) and node.attr in PROTOCOL_ATTRIBUTES:
            name = node.attr
        if name:
            found.append(f"{path.name}:{node.lineno}: {name}")  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_knows_the_door_and_no_more(name: str) -> None:
    expect_none(forbidden_imports(RUNTIME / name))


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_does_not_look_at_states_of_links(name: str) -> None:
    expect_none(protocol_states(RUNTIME / name))


def test_the_drivers_are_short() -> None:
    lines = {name: len((RUNTIME / name).read_text().splitlines()) for name in DRIVERS}
    assert sum(lines.values()) <= LINES_MAX, lines


def test_nobody_else_drives() -> None:
    """Only they may bring events to a machine; the rest of the runtime asks them."""
    others = [path for path in RUNTIME.rglob("*.py") if path.name not in DRIVERS]
    driving = {"Connected", "Data", "Disconnected", "DialFailed", "Write", "Abort", "Dial"}
    found = [
        f"{path.name}: {name}"
        for path in others
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "sapwood.protocol.ports"
        for name in (alias.name for alias in node.names)
        if name in driving
    ]
    expect_none(found)


# --- the checks ---------------------------------------------------------------------------


def sample(folder: Path, text: str) -> Path:
    path = folder / "sample.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "from sapwood.protocol.link.states import LineState",
        "from sapwood.protocol.link.peer import Peer",
        "from sapwood.protocol.link.overflow import EXCESS_MAX",
        "import sapwood.protocol.node",
    ],
)
def test_an_import_that_decides_is_found(tmp_path: Path, text: str) -> None:
    assert len(forbidden_imports(sample(tmp_path, text))) == 1


@pytest.mark.parametrize(
    "text", ["if peer.away_since: pass", "x.channel.push(b'')", "x is LineState.OPEN"]
)
def test_a_look_at_a_state_is_found(tmp_path: Path, text: str) -> None:
    assert protocol_states(sample(tmp_path, text)) != []


def test_the_door_is_allowed(tmp_path: Path) -> None:
    text = "from sapwood.protocol.ports import Stop, Write\nWrite(1, b'').connection\n"
    path = sample(tmp_path, text)
    assert (forbidden_imports(path), protocol_states(path)) == ([], [])
