"""`sapwood account`: add accounts to a file, hash secrets, check the file."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

app = typer.Typer(
    help="Make and check accounts: who may log in, and do what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of accounts (TOML).")]
Password = Annotated[
    bool,
    typer.Option("--password", help="Read a password from standard input, or ask for it."),
]


@app.command()
def add(  # noqa: PLR0913 - one parameter for each option of the command
    file: File,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the account.")],
    *,
    broker: Annotated[bool, typer.Option("--broker", help="For a broker, not a client.")] = False,
    publish: Annotated[str, typer.Option(metavar="FILTER", help="What it may publish.")] = "false",
    subscribe: Annotated[
        str, typer.Option(metavar="FILTER", help="What it may subscribe to.")
    ] = "false",
    administer: Annotated[
        str, typer.Option(metavar="FILTER", help="What it may change.")
    ] = "false",
    id: Annotated[  # noqa: A002 - the name of the option
        list[str] | None, typer.Option("--id", metavar="ID", help="A further id of its own.")
    ] = None,
    certificate: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name in its certificate, in place of a secret."),
    ] = None,
    password: Password = False,
    as_json: AsJson = False,
) -> int:
    """Add an account to a file, which is made if need be, and print its secret once.

    The secret is a token drawn at random, of which the file has only a hash. With --password it is
    what a person chose; with --certificate alone there is none.
    """
    from sapwood.runtime.config.account_writing import NewAccount, add_account

    token = hashed = ""
    if password:
        hashed = _hash(_ask())
    elif not certificate:
        token, hashed = _draw()
    account = NewAccount(
        name=name,
        role="broker" if broker else "client",
        secret=hashed,
        certificates=tuple(certificate or ()),
        ids=tuple(id or ()),
        publish=publish,
        subscribe=subscribe,
        administer=administer,
    )
    add_account(file, account)
    if as_json:
        print_json({"account": name, "secret": token or None, "file": str(file)})
        return ExitStatus.DONE
    notice(f"account {name} is in {file}; a broker reads it again at SIGHUP")
    if token:
        print(token)
    return ExitStatus.DONE


@app.command("hash")
def hash_secret(password: Password = False, as_json: AsJson = False) -> int:
    """Print a new token and its hash; with --password, the hash of a password."""
    if password:
        token, hashed = "", _hash(_ask())
    else:
        token, hashed = _draw()
    if as_json:
        print_json({"secret": token or None, "hash": hashed})
    else:
        if token:
            print(token)
        print(hashed)
    return ExitStatus.DONE


@app.command()
def check(file: File, as_json: AsJson = False) -> int:
    """Tell whether a file of accounts is right, and who is in it."""
    from sapwood.runtime.config.accounts import read_accounts

    accounts = list(read_accounts(str(file)) or ())
    if as_json:
        print_json(
            {
                "file": str(file),
                "right": True,
                "accounts": [
                    {
                        "name": one.name,
                        "role": one.role,
                        "ids": one.patterns,
                        "publish": str(one.publish),
                        "subscribe": str(one.subscribe),
                        "administer": str(one.administer),
                    }
                    for one in accounts
                ],
            }
        )
    else:
        brokers = sum(one.role == "broker" for one in accounts)
        print(f"{file} is right: accounts {len(accounts)}, of which for brokers {brokers}")
    return ExitStatus.DONE


def _draw() -> tuple[str, str]:
    """A new token, and its hash."""
    from sapwood.protocol.hashing import hash_token

    token = secrets.token_urlsafe(32)
    return token, hash_token(token)


def _hash(password: str) -> str:
    from sapwood.protocol.hashing import SALT_BYTES, hash_password

    return hash_password(password, secrets.token_bytes(SALT_BYTES))


def _ask() -> str:
    """A password: from a person, who is asked twice, or the first line of standard input."""
    from sapwood.errors import ParameterError

    if sys.stdin.isatty():
        password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise ParameterError("is empty; give one on standard input", "password")
    return password
