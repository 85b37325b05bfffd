"""The files in `examples/` are right: configurations, names of metrics, the service."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from expecting import expect_none
from runtime.authority import Authority
from runtime.living import until
from runtime.serving import free_port, run
from runtime.statuses import CLIENT, NEIGHBOUR, STATUS
from sapwood.protocol.hashing import hash_token
from sapwood.runtime.admin.metrics import exposition
from sapwood.runtime.admin.readiness import why_not_ready
from sapwood.runtime.admin.status import (
    EdgesStatus,
    EdgeStatus,
    OptimizationStatus,
    TraceStatus,
)
from sapwood.runtime.config.configuration import EXAMPLE_ID, load
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.server import Server
from sapwood.runtime.tls import client_context

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CONFIGURATIONS = sorted(EXAMPLES.rglob("*.toml"))
FORTY = EXAMPLES / "forty-sites"

METRIC = re.compile(r"\bsapwood_[a-z_]+")
LABELS = re.compile(r"(?:\bby \(|\$labels\.|\{\{)([a-z_]+(?:, [a-z_]+)*)(?:\)| |\}\})|\{([a-z_]+)=")
OF_PROMETHEUS = frozenset({"instance", "job"})


# --- configurations -----------------------------------------------------------------------


def installed(file: Path, folder: Path, instead: Mapping[str, str], secret: str = "") -> Settings:
    """What `sapwood config check` would say of a file where all is there that it names."""
    authority = Authority(folder)
    tls = authority.settings("127.0.0.1", "broker")
    assert tls.certificate == str(folder / "broker.pem")
    names = ("hub-1", "site-01")
    (folder / "accounts.toml").write_text(
        "".join(
            f'[accounts.{name}]\nrole = "broker"\nsecret = "{hash_token(name)}"\n' for name in names
        )
    )
    text = file.read_text().replace("/etc/sapwood/", f"{folder}/")
    for old, new in {"/var/lib/sapwood": str(folder / "data"), **instead}.items():
        text = text.replace(old, new)
    copy = folder / file.name
    copy.write_text(text)
    return load(copy, {}, {"SAPWOOD_SECRET": secret}, default_id=EXAMPLE_ID)


@pytest.mark.parametrize("file", CONFIGURATIONS, ids=lambda path: path.stem)
def test_a_configuration_is_right(file: Path, tmp_path: Path) -> None:
    assert installed(file, tmp_path, {}).network == "factories"


def test_there_are_configurations() -> None:
    assert {"site.toml", "hub.toml"} <= {path.name for path in CONFIGURATIONS}


def test_the_template_of_a_site_has_its_number_where_it_matters() -> None:
    text = (FORTY / "site.toml").read_text().replace("site-01", "site-17")
    assert 'id = "site-17"' in text
    assert 'account = "site-17"' in text


def test_a_site_joins_its_hub_with_these_files(tmp_path: Path) -> None:
    """Over TLS and with accounts; the second hub is not there."""
    port = free_port()
    for name in ("hub", "site"):
        (tmp_path / name).mkdir()
    here = {"0.0.0.0:7470": f"127.0.0.1:{port}", '"8470"': '""'}
    hub_settings = installed(FORTY / "hub.toml", tmp_path / "hub", here)
    site_settings = installed(
        FORTY / "site.toml",
        tmp_path / "site",
        {
            "hub-1.example.net:7470": f"127.0.0.1:{port}",
            "hub-2.example.net:7470": f"127.0.0.1:{free_port()}",
            "127.0.0.1:7470": "127.0.0.1:0",
            '"8470"': '""',
            str(tmp_path / "site" / "authority.pem"): str(tmp_path / "hub" / "authority.pem"),
        },
        "site-01",
    )
    client_context.cache_clear()

    async def check() -> None:
        servers = [Server(hub_settings), Server(site_settings)]
        try:
            for server in servers:
                await server.start()
            await until(lambda: not why_not_ready(servers[1].node), "the site takes part")
            await until(lambda: servers[1].status().tree.root == "hub-1", "the hub is the root")
        finally:
            for server in reversed(servers):
                await server.stop()

    run(check())
    client_context.cache_clear()


# --- metrics ------------------------------------------------------------------------------


def exposed() -> tuple[set[str], set[str]]:
    """Names of all metrics and of all their labels, of a broker that uses everything."""
    edge = EdgeStatus(source="B1", target="B2", mode="covering", number=1, all=1.0)
    status = msgspec.structs.replace(
        STATUS,
        neighbours=(NEIGHBOUR,),
        clients=(msgspec.structs.replace(CLIENT, is_slow=True),),
        drops={"malformed": 1},
        counts={"resumed": 1},
        trace=TraceStatus(directory="t", run="live", left_out=7, failure=""),
        optimization=OptimizationStatus(mode="on", swaps={"completed": 1}),
        edges=EdgesStatus(edges=(edge,)),
        certificates={"broker.pem": 2e9},
    )
    families = list(text_string_to_metric_families(exposition(status).decode()))
    samples = [sample for family in families for sample in family.samples]
    return {one.name for one in samples}, {label for one in samples for label in one.labels}


def wrong_names(text: str) -> list[str]:
    """Metrics and labels in a text that no broker has."""
    metrics, labels = exposed()
    used = {
        label
        for found in LABELS.finditer(text)
        for label in (found.group(1) or found.group(2)).split(", ")
    }
    unknown = set(METRIC.findall(text)) - metrics
    return sorted(unknown | used - labels - OF_PROMETHEUS)


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json"])
def test_names_are_those_of_the_endpoint(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert METRIC.findall(text)
    expect_none(wrong_names(text))


@pytest.mark.parametrize(
    "text",
    ["sapwood_given_up_total > 0", "sum by (broker_id) (x)", "{{ $labels.peer }}", '{pear="x"}'],
)
def test_a_wrong_name_is_found(text: str) -> None:
    assert len(wrong_names(text)) == 1


def alerts() -> dict[str, str]:
    """The text of each alert, by name."""
    parts = (EXAMPLES / "alerts.yml").read_text().split("- alert: ")[1:]
    return {part.split("\n", 1)[0]: part for part in parts}


def test_every_alert_has_a_condition_and_says_what_it_is_about() -> None:
    expect_none(
        [
            f"{name}: {key}"
            for name, text in alerts().items()
            for key in ("expr: ", "severity: ", "summary: ")
            if text.count(key) != 1
        ]
    )


def test_every_loss_is_in_one_alert() -> None:
    assert set(METRIC.findall(alerts()["SapwoodLoss"])) == {
        "sapwood_losses_total",
        "sapwood_link_missed_total",
    }


def test_the_panels_of_the_dashboard_are_whole() -> None:
    board: dict[str, Any] = json.loads((EXAMPLES / "dashboard.json").read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    corners = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(corners) == len(panels)
    assert all(target["expr"] for panel in panels for target in panel["targets"])


# --- the service --------------------------------------------------------------------------


def test_the_service_is_what_a_broker_supports() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(EXAMPLES / "sapwood-broker.service")
    service = unit["Service"]
    wanted = {
        "Type": "notify",
        "ExecReload": "/bin/kill -HUP $MAINPID",
        "RestartPreventExitStatus": "2",
        "StateDirectory": "sapwood",
        "User": "sapwood",
        "NoNewPrivileges": "yes",
    }
    assert {key: service[key] for key in wanted} == wanted
    assert int(service["WatchdogSec"]) > 0
    assert "AF_UNIX" in service["RestrictAddressFamilies"].split()  # it is told over such a socket
    assert "MemoryDenyWriteExecute" not in service  # the matching engine is compiled
