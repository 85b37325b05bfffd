"""When certificates expire, as their files say it."""

from __future__ import annotations

import ssl
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from runtime.authority import Authority
from sapwood.errors import ConfigurationError
from sapwood.runtime.certificates import expires_at, expiries


@pytest.mark.parametrize("year", [2031, 2049, 2060])
def test_a_file_says_when_the_first_of_its_certificates_expires(tmp_path: Path, year: int) -> None:
    """In both forms that a time may have: two digits of the year up to 2049, then four."""
    authority = trustme.CA()
    file = tmp_path / "certificates.pem"
    ends = [datetime(year, 3, 1, 12, 0, 5, tzinfo=UTC), datetime(2070, 1, 1, tzinfo=UTC)]
    issued = [authority.issue_cert("site", not_after=end) for end in ends]
    file.write_bytes(b"".join(one.cert_chain_pems[0].bytes() for one in reversed(issued)))
    assert expires_at(str(file)) == ends[0].timestamp()


def test_it_is_what_python_says_of_a_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.create_default_context(cafile=authority.file)
    said = ssl.cert_time_to_seconds(str(context.get_ca_certs()[0]["notAfter"]))
    assert expires_at(authority.file) == said


def test_all_files_of_a_broker_are_looked_at(tmp_path: Path) -> None:
    tls = Authority(tmp_path).settings("B1")
    found = expiries(tls)
    assert list(found) == [tls.certificate, tls.authority]
    assert all(at > time.time() for at in found.values())


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"]
)
def test_a_file_without_certificate_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "wrong.pem"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"wrong\.pem"):
        expires_at(str(file))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        expires_at(str(tmp_path / "gone.pem"))


def test_a_file_of_an_unknown_form_is_left_out(tmp_path: Path) -> None:
    tls = Authority(tmp_path).settings("B1")
    Path(tls.authority).write_text("something else")
    assert list(expiries(tls)) == [tls.certificate]
