"""TLS files: the trusted certificate authorities, and the client certificate."""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from dataclasses import dataclass, field

from urllib3.util.ssl_ import create_urllib3_context

from srfix.serde.errors import UsageError
from srfix.serde.files import refuse_what_is_no_file
from srfix.serde.registry.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """The client certificate for a registry with mTLS. The files are read when connections are opened."""

    certificate_file: str
    """PEM file of the certificate and its chain."""
    key_file: str | None = None
    """PEM file of the private key; None if it is in the certificate's file."""
    key_password: Secret | None = None
    """The password of the private key; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificateText:
    """A client certificate given as texts, not files, for example from a Java key store. It can be pickled if its
    key's `Secret` can."""

    chain: str
    """The certificate and its chain; PEM."""
    key: Secret = field(repr=False)
    """The private key; PEM."""
    key_password: Secret | None = field(default=None, repr=False)
    """The password of the private key; None if it has none."""


def check_ca_file(ca_file: str) -> None:
    try:
        refuse_what_is_no_file(ca_file)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise UsageError(
            f"The CA file {ca_file!r} for the registry cannot be used ({_reason(error)}). "
            "It must be a PEM file of certificates."
        ) from error


def check_ca_text(ca_pem: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ca_pem)
        return
    except (ssl.SSLError, ValueError):
        pass
    raise UsageError("The certificates of ssl.ca.pem for the registry cannot be used: they are not PEM certificates.")


def client_context(certificate: ClientCertificate | ClientCertificateText) -> ssl.SSLContext:
    """A TLS context with the client certificate. The trusted authorities are set for each connection."""
    if isinstance(certificate, ClientCertificateText):
        return _context_of_texts(certificate)
    context = create_urllib3_context()
    was_asked = False

    def password() -> str:
        nonlocal was_asked
        was_asked = True
        return certificate.key_password.reveal() if certificate.key_password is not None else ""

    try:
        for path in (certificate.certificate_file, certificate.key_file):
            if path is not None:
                refuse_what_is_no_file(path)
        # A function even if there is no password, because OpenSSL would otherwise ask at the terminal.
        context.load_cert_chain(certificate.certificate_file, certificate.key_file, password)
    except OSError as error:
        key = certificate.key_file or certificate.certificate_file
        if was_asked:
            problem = f"the private key in {key!r} is encrypted and " + (
                "needs its password" if certificate.key_password is None else "has another password"
            )
        else:
            problem = f"certificate {certificate.certificate_file!r}, key {key!r}: {_reason(error)}"
        raise UsageError(
            f"The client certificate for the registry cannot be used: {problem}. Give PEM files of a certificate "
            "and its private key (ssl.certificate.location, ssl.key.location, ssl.key.password)."
        ) from error
    return context


def _context_of_texts(certificate: ClientCertificateText) -> ssl.SSLContext:
    """OpenSSL reads certificates only from files: a private one exists for a moment, its key encrypted."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    context = create_urllib3_context()
    passing = secrets.token_hex(32)
    password = None if certificate.key_password is None else certificate.key_password.reveal().encode()
    try:
        key = load_pem_private_key(certificate.key.reveal().encode(), password)
        hidden = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passing.encode()))
        descriptor, path = tempfile.mkstemp(prefix="srfix-")  # readable only by its owner
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hidden + certificate.chain.encode())
            context.load_cert_chain(path, password=lambda: passing)
        finally:
            os.unlink(path)
        return context
    except (ValueError, TypeError, ssl.SSLError):
        pass
    raise UsageError(
        "The client certificate for the registry cannot be used: key and certificate do not belong together, or the key is "
        "encrypted and ssl.key.password does not open it."
    )


def _reason(error: OSError) -> str | None:
    return error.reason if isinstance(error, ssl.SSLError) else error.strerror
