"""Adding an account to a file: what is there stays as it is, and the whole is checked first."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from sapwood.errors import ConfigurationError
from sapwood.protocol.accounts import Role
from sapwood.runtime.config.accounts import TABLE, accounts_of, name_problem
from sapwood.runtime.config.toml_file import read_file
from sapwood.runtime.kept_files import replace

_PRIVATE: Final = 0o600
_BEGINNING: Final = """\
# Who may log in at brokers of this network, and what they may do: see docs/how-to/operate.md.
"""


class NewAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account as it is to stand in a file."""

    name: str
    role: Role = "client"
    secret: str = ""
    certificates: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    publish: str = "false"
    subscribe: str = "false"
    administer: str = "false"

    def toml(self) -> str:
        """The table for it; what is as usual is left out."""
        usual = NewAccount(name=self.name)
        lines = [f"[{TABLE}.{_key(self.name)}]"]
        for field in self.__struct_fields__[1:]:
            value = getattr(self, field)
            if value != getattr(usual, field):
                lines.append(f"{field} = {json.dumps(value, ensure_ascii=False)}")
        return "\n".join(lines) + "\n"


def add_account(file: Path, account: NewAccount) -> None:
    """Add an account; a ConfigurationError, and nothing changes, if it would make the file wrong.

    A file that is made here can be read by its owner only.
    """
    if wrong := name_problem(account.name):
        raise ConfigurationError(wrong, f"{TABLE}.{account.name}", str(file))
    is_new = not file.exists()
    known = {} if is_new else read_file(file)
    if account.name in accounts_named(known):
        raise ConfigurationError(
            "is there already; choose another name, or change it in the file",
            f"{TABLE}.{account.name}",
            str(file),
        )
    before = _BEGINNING if is_new else file.read_text(encoding="utf-8")
    gap = "" if before.endswith("\n") else "\n"
    text = f"{before}{gap}\n{account.toml()}"
    accounts_of(tomllib.loads(text), str(file))
    try:
        if is_new:
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, _PRIVATE))
        mode = file.stat().st_mode
        replace(file, text, mode & 0o777)
    except OSError as problem:
        what = problem.strerror or str(problem)
        raise ConfigurationError(f"cannot be written: {what}", origin=str(file)) from None


def accounts_named(values: dict[str, object]) -> set[str]:
    """The names of accounts in a file, right or wrong."""
    table = values.get(TABLE)
    return set(table) if isinstance(table, dict) else set()


def _key(name: str) -> str:
    """A name as TOML wants it as a key."""
    is_bare = name.isascii() and all(one.isalnum() or one in "-_" for one in name)
    return name if is_bare else json.dumps(name, ensure_ascii=False)
