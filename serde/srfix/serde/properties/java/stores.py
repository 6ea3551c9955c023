"""Key and trust stores as PEM texts: JKS, PKCS#12, and PEM itself. What a store is, its first bytes say, as Java goes by them.

Nothing is written anywhere: the texts stay in memory.
"""

from __future__ import annotations

import re
import ssl
import textwrap
from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.properties.java.jks import MAGIC, WrongPasswordError, read_jks, shown_key

_DER: Final = b"\x30"
_PEM: Final = b"-----BEGIN"
_MOST_ITERATIONS: Final = 5_000_000
"""As Java (`sun.security.pkcs12.PKCS12KeyStore.MAX_ITERATION_COUNT`). OpenSSL takes 2^31, which is an hour that nothing
interrupts."""
_SALT: Final = re.compile(rb"\x04[\x01-\x7f]", re.DOTALL)
"""The head of a short octet string."""
_SEQUENCE: Final = b"\x30"
_DIGEST_SIZES: Final = (16, 20, 28, 32, 48, 64)
_TO_PKCS12: Final = "keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12"


def is_pem(content: bytes) -> bool:
    """True for PEM, a comment before it or not."""
    return _PEM in content and content[:1] != _DER and not content.startswith(MAGIC)


def read_store(path: str, name: str) -> bytes:
    """The content of a store's file.

    :param name: the property that names it, for the message.
    """
    try:
        return read_file(path, most_bytes=bounds.MOST_SECRET_BYTES)
    except OSError as error:
        raise UsageError(f"The file {path!r} of {name} cannot be used: {error.strerror}.") from None


def trusted_certificates(content: bytes, password: str | None) -> str:
    """The certificates of a trust store that is not PEM, as PEM."""
    if content.startswith(MAGIC):
        store = read_jks(content, password)
        certificates = [*store.trusted, *(key.chain[0] for key in store.keys if key.chain)]
    else:
        _, own, others = _pkcs12(content, password)
        certificates = [_der(certificate) for certificate in ([own] if own is not None else []) + others]
    if not certificates:
        raise ValueError("it holds no certificate (without the store's password Java sees none either)")
    return _certificates_pem(certificates)


def private_key_and_chain(content: bytes, password: str | None, key_password: str | None) -> tuple[str, str]:
    """The private key of a key store that is not PEM (PKCS#8, not encrypted), and its chain; both PEM."""
    if not content.startswith(MAGIC):
        key, own, others = _pkcs12(content, password)
        if key is None or own is None:
            raise ValueError("it holds no private key with its certificate")
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
        return text, _certificates_pem([_der(certificate) for certificate in _chain(own, others)])
    if password is None and key_password is None:
        raise ValueError("its password is missing")
    store = read_jks(content, password)
    if len(store.keys) != 1:
        raise ValueError(
            f"it holds {len(store.keys)} private keys, and srfix takes a store of one. Take one out: {_TO_PKCS12} "
            "-srcalias ALIAS"
        )
    (entry,) = store.keys
    shown = shown_key(entry.hidden_key, key_password or password or "")
    text = f"-----BEGIN PRIVATE KEY-----\n{_lines(b64encode(shown).decode('ascii'))}\n-----END PRIVATE KEY-----\n"
    return text, _certificates_pem(list(entry.chain))


def pem_blocks(text: str, label: str) -> str:
    """The blocks whose label ends so, each on lines of its own: Java takes them on one line too, OpenSSL does not."""
    blocks: list[str] = []
    behind = text
    while True:
        begin, _, behind = behind.partition("-----BEGIN ")[2].partition("-----")
        body, end, behind = behind.partition(f"-----END {begin}-----")
        if not end:
            break
        if begin.endswith(label):
            blocks.append(f"-----BEGIN {begin}-----\n{_lines(body.strip())}\n-----END {begin}-----\n")
    if not blocks:
        raise ValueError(f"it holds no block -----BEGIN {label}-----")
    return "".join(blocks)


def _lines(body: str) -> str:
    # Headers of the old encrypted form (Proc-Type) keep their lines.
    return body if ":" in body else "\n".join(textwrap.wrap("".join(body.split()), 64))


def _pkcs12(
    content: bytes, password: str | None
) -> tuple[PrivateKeyTypes | None, x509.Certificate | None, list[x509.Certificate]]:
    if not content.startswith(_DER):
        raise ValueError(f"it is neither JKS nor PKCS#12 nor PEM. Java itself turns it into PKCS#12: {_TO_PKCS12}")
    if password is None:
        raise ValueError("it is PKCS#12, and its password is missing")
    rounds = max(_iteration_counts(content), default=0)
    if rounds > _MOST_ITERATIONS:
        raise ValueError(
            f"it asks for {rounds:,} rounds of its password's hash, and Java takes {_MOST_ITERATIONS:,} at most: it is "
            "hostile, or no store of Java's"
        )
    try:
        store = pkcs12.load_pkcs12(content, password.encode("utf-8"))
    except (ValueError, UnsupportedAlgorithm):
        pass
    else:
        own = store.cert.certificate if store.cert is not None else None
        return store.key, own, [additional.certificate for additional in store.additional_certs]
    raise WrongPasswordError(
        f"it has another password, or is in a form of PKCS#12 that OpenSSL cannot read; then Java writes it anew: {_TO_PKCS12}"
    )


def _iteration_counts(content: bytes) -> Iterator[int]:
    """In DER a number behind the octets of a salt, which begins a sequence (RFC 8018, PBEParameter and PBKDF2-params) or
    follows a digest (RFC 7292, MacData)."""
    for salt in _SALT.finditer(content):
        start, at = salt.start(), salt.end() + content[salt.end() - 1]
        begins = content[start - 2 : start - 1] == _SEQUENCE and content[start - 1] > salt.end() - start
        follows = any(content[start - size - 2 : start - size] == bytes((4, size)) for size in _DIGEST_SIZES)
        if content[at : at + 1] == b"\x02" and content[at + 1 : at + 2] <= b"\x08" and (begins or follows):
            yield int.from_bytes(content[at + 2 : at + 2 + content[at + 1]], "big")


def _chain(own: x509.Certificate, others: list[x509.Certificate]) -> list[x509.Certificate]:
    """From the own certificate up, as far as the store goes."""
    chain, left = [own], list(others)
    while above := next((certificate for certificate in left if certificate.subject == chain[-1].issuer), None):
        left.remove(above)
        chain.append(above)
    return chain


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def _certificates_pem(certificates: list[bytes]) -> str:
    return "".join(dict.fromkeys(ssl.DER_cert_to_PEM_cert(certificate) for certificate in certificates))
