"""`sapwood top`: the table again and again."""

from __future__ import annotations

import pytest

from runtime.serving import chain_in_background
from sapwood.cli.main import run


def test_so_many_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with chain_in_background(2) as servers:
        url = str(servers[0].address)
        assert run(["top", "-s", url, "--count", "2", "--interval", "0.1"]) == 0
    words = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    found = [word for word in words if word[:1] in (["B1"], ["B2"])]
    assert found == [["B1", "(root)"], ["B2", "B1"]] * 2
