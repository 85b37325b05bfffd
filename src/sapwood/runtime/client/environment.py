"""What the environment says about getting in: for commands and programs alike.

An option that is given counts more than its variable. Secrets are better in a variable than in a
program or on a command line, where others can read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sapwood.runtime.client.options import DEFAULT_SERVER, ConnectOptions
from sapwood.runtime.tls import context_from_environment

SERVER_VARIABLE: Final = "SAPWOOD_SERVER"
NETWORK_VARIABLE: Final = "SAPWOOD_NETWORK"
TOKEN_VARIABLE: Final = "SAPWOOD_TOKEN"  # noqa: S105 - where the secret is, not the secret
ACCOUNT_VARIABLE: Final = "SAPWOOD_ACCOUNT"
SECRET_VARIABLE: Final = "SAPWOOD_SECRET"  # noqa: S105 - as above


def completed_servers(servers: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The servers that are given, else those of the environment, else the usual one."""
    return tuple(servers or environment.get(SERVER_VARIABLE, "").split() or (DEFAULT_SERVER,))


def completed_options(
    options: ConnectOptions, servers: Sequence[str], environment: Mapping[str, str]
) -> ConnectOptions:
    """The options that are given, and for those that are not, what the environment says.

    The secret of the environment belongs to the account of the environment: a program that names
    another account does not show it.
    """
    found: ConnectOptions = {}
    if network := environment.get(NETWORK_VARIABLE):
        found["network"] = network
    if token := environment.get(TOKEN_VARIABLE):
        found["token"] = token
    account = environment.get(ACCOUNT_VARIABLE, "")
    if account:
        found["account"] = account
    if (secret := environment.get(SECRET_VARIABLE)) and options.get("account", account) == account:
        found["secret"] = secret
    if any(server.startswith("sapwoods:") for server in servers) and not options.get("tls"):
        found["tls"] = context_from_environment(environment)
    return {**found, **options, "tls": options.get("tls") or found.get("tls")}
