"""Certificates for tests, as files."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from sapwood.runtime.config.settings import TlsSettings
from sapwood.runtime.tls import client_context


class Authority:
    """Somebody who issues certificates, as files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made = trustme.CA()
        self.file = str(directory / "authority.pem")
        self._made.cert_pem.write_to_path(self.file)

    def settings(self, *names: str, require: bool = False) -> TlsSettings:
        """A certificate for some names, and trust in this authority."""
        issued = self._made.issue_cert(*names, common_name=names[-1])
        certificate = self._directory / f"{names[-1]}.pem"
        key = self._directory / f"{names[-1]}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(key))
        return TlsSettings(
            certificate=str(certificate),
            key=str(key),
            authority=self.file,
            require_certificate=require,
        )

    @property
    def trusted(self) -> ssl.SSLContext:
        """What somebody dials with who trusts this authority and has no certificate."""
        return client_context(TlsSettings(authority=self.file))
