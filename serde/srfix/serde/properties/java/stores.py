"""Key and trust stores as PEM texts: JKS, PKCS#12, and PEM itself. The first bytes decide the kind of store, as in
Java.

Nothing is written to disk: the texts stay in memory.

The format of JKS, as `sun.security.provider.JavaKeyStore` writes it:

    store = 0xFEEDFEED version count { entry } SHA-1(password, "Mighty Aphrodite", all before)
    entry = 1 alias time key count { certificate } | 2 alias time certificate

It is parsed by hand, because the only library for it (pyjks) is from 2020, and its dependencies do not build
everywhere. Numbers are big-endian; each text follows its length. A key is encrypted with a key stream of SHA-1 over
password and salt (`KeyProtector`).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import ssl
import struct
import textwrap
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST: Final = 20
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2


class WrongPasswordError(ValueError):
    """The store, or a key in it, has another password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """An encrypted private key and its certificate chain, its own certificate first; DER."""

    hidden_key: bytes = field(repr=False)
    """The key in the store's form: an `EncryptedPrivateKeyInfo`."""
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaKeyStore:
    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]
    """The certificates without a key; DER."""


def read_jks(content: bytes, password: str | None) -> JavaKeyStore:
    """The entries. Without a password it does not check whether the store was changed, as in Java."""
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _WHITENER + body, usedforsecurity=False).digest()
        if not hmac.compare_digest(expected, digest):
            raise WrongPasswordError("it has another password, or was changed")
    try:
        return _read(_Reader(body))
    except struct.error:
        raise ValueError("it is cut off") from None


def shown_key(hidden_key: bytes, password: str) -> bytes:
    protected = _octets(hidden_key)
    salt, hidden, check = protected[:_DIGEST], protected[_DIGEST:-_DIGEST], protected[-_DIGEST:]
    secret = _utf16(password)
    stream, block = bytearray(), salt
    while len(stream) < len(hidden):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key, usedforsecurity=False).digest(), check):
        raise WrongPasswordError("the key in it has another password")
    return key


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def bytes_(self, form: str) -> bytes:
        """The bytes after their length."""
        length = self.number(form)
        content = self._content[self._at : self._at + length]
        if len(content) != length:
            raise struct.error
        self._at += length
        return content


def _read(reader: _Reader) -> JavaKeyStore:
    magic, version = reader.number("I"), reader.number("I")
    if magic != int.from_bytes(MAGIC, "big") or version not in (1, 2):
        raise ValueError("it is not a Java key store of version 1 or 2")

    def certificate() -> bytes:
        if version == 2 and reader.bytes_("H") != b"X.509":
            raise ValueError("it holds a certificate that is not X.509")
        return reader.bytes_("I")

    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(reader.number("I")):
        tag = reader.number("I")
        reader.bytes_("H")
        reader.number("Q")
        if tag == _KEY_ENTRY:
            hidden_key = reader.bytes_("I")
            keys.append(KeyEntry(hidden_key=hidden_key, chain=tuple(certificate() for _ in range(reader.number("I")))))
        elif tag == _CERTIFICATE_ENTRY:
            trusted.append(certificate())
        else:
            raise ValueError("it has an entry of a kind that JKS does not define")
    return JavaKeyStore(keys=tuple(keys), trusted=tuple(trusted))


def _octets(der: bytes) -> bytes:
    """The octets of SEQUENCE { SEQUENCE algorithm, OCTET STRING }."""
    outer, _ = _element(der, 0x30)
    _, behind = _element(outer, 0x30)
    octets, _ = _element(behind, 0x04)
    if len(octets) < 2 * _DIGEST:
        raise ValueError("the key in it is cut off")
    return octets


def _element(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of a DER element, and the bytes after it."""
    if len(der) < 2 or der[0] != tag:
        raise ValueError("its key is protected in a way that JKS does not define")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    return der[start : start + length], der[start + length :]


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


_DER: Final = b"\x30"
_PEM: Final = b"-----BEGIN"
_MOST_ITERATIONS: Final = 5_000_000
"""The same limit as Java's (`sun.security.pkcs12.PKCS12KeyStore.MAX_ITERATION_COUNT`). OpenSSL accepts 2^31, which
takes an hour that nothing can interrupt."""
_SALT: Final = re.compile(rb"\x04[\x01-\x7f]", re.DOTALL)
"""The head of a short octet string."""
_DIGEST_SIZES: Final = (16, 20, 28, 32, 48, 64)
_TO_PKCS12: Final = "keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12"


def is_pem(content: bytes) -> bool:
    """True for PEM, with or without a comment before it."""
    return _PEM in content and content[:1] != _DER and not content.startswith(MAGIC)


def read_store(path: str, name: str) -> bytes:
    try:
        return read_file(path, most_bytes=bounds.MOST_SECRET_BYTES)
    except OSError as error:
        raise UsageError(f"The file {path!r} of {name} cannot be used: {error.strerror}.") from None


def trusted_certificates(content: bytes, password: str | None) -> str:
    if content.startswith(MAGIC):
        store = read_jks(content, password)
        certificates = [*store.trusted, *(key.chain[0] for key in store.keys if key.chain)]
    else:
        _, key_certificate, other_certificates = _pkcs12(content, password)
        certificates = [_der(one) for one in (key_certificate, *other_certificates) if one is not None]
    if not certificates:
        raise ValueError("it holds no certificate (without the store's password, Java also sees none)")
    return _certificates_pem(certificates)


def private_key_and_chain(content: bytes, password: str | None, key_password: str | None) -> tuple[str, str]:
    """The private key of a key store that is not PEM (PKCS#8, not encrypted), and its chain; both PEM."""
    if not content.startswith(MAGIC):
        key, key_certificate, other_certificates = _pkcs12(content, password)
        if key is None or key_certificate is None:
            raise ValueError("it holds no private key with its certificate")
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
        return text, _certificates_pem(map(_der, _chain(key_certificate, other_certificates)))
    if password is None and key_password is None:
        raise ValueError("its password is missing")
    store = read_jks(content, password)
    if len(store.keys) != 1:
        raise ValueError(
            f"it holds {len(store.keys)} private keys, but srfix needs a store with exactly one. Extract one: "
            f"{_TO_PKCS12} -srcalias ALIAS"
        )
    (entry,) = store.keys
    shown = shown_key(entry.hidden_key, key_password or password or "")
    text = f"-----BEGIN PRIVATE KEY-----\n{_lines(b64encode(shown).decode('ascii'))}\n-----END PRIVATE KEY-----\n"
    return text, _certificates_pem(entry.chain)


def pem_blocks(text: str, label: str) -> str:
    """The blocks whose label ends with this text, each on its own lines: Java accepts them on one, OpenSSL does not."""
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
        raise ValueError(f"it is neither JKS nor PKCS#12 nor PEM. Java can convert it to PKCS#12: {_TO_PKCS12}")
    if password is None:
        raise ValueError("it is PKCS#12, but its password is missing")
    rounds = max(_iteration_counts(content), default=0)
    if rounds > _MOST_ITERATIONS:
        raise ValueError(
            f"it asks for {rounds:,} rounds of its password's hash, but Java allows at most {_MOST_ITERATIONS:,}: it "
            "is hostile or corrupt, or not a store of Java"
        )
    with suppress(ValueError, UnsupportedAlgorithm):
        store = pkcs12.load_pkcs12(content, password.encode("utf-8"))
        key_certificate = store.cert.certificate if store.cert is not None else None
        return store.key, key_certificate, [additional.certificate for additional in store.additional_certs]
    raise WrongPasswordError(
        "it has another password, or a form of PKCS#12 that OpenSSL cannot read; in that case write it again with Java: "
        f"{_TO_PKCS12}"
    )


def _iteration_counts(content: bytes) -> Iterator[int]:
    """The iteration counts: in DER, a number after the octets of a salt. The salt begins a sequence (RFC 8018,
    PBEParameter and PBKDF2-params) or follows a digest (RFC 7292, MacData)."""
    for salt in _SALT.finditer(content):
        start, at = salt.start(), salt.end() + content[salt.end() - 1]
        begins = content[start - 2 : start - 1] == _DER and content[start - 1] > salt.end() - start
        follows = any(content[start - size - 2 : start - size] == bytes((4, size)) for size in _DIGEST_SIZES)
        if content[at : at + 1] == b"\x02" and content[at + 1 : at + 2] <= b"\x08" and (begins or follows):
            yield int.from_bytes(content[at + 2 : at + 2 + content[at + 1]], "big")


def _chain(key_certificate: x509.Certificate, other_certificates: list[x509.Certificate]) -> list[x509.Certificate]:
    """The chain from its own certificate upwards, as far as the store has it."""
    chain, left = [key_certificate], list(other_certificates)
    while above := next((certificate for certificate in left if certificate.subject == chain[-1].issuer), None):
        left.remove(above)
        chain.append(above)
    return chain


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def _certificates_pem(certificates: Iterable[bytes]) -> str:
    return "".join(dict.fromkeys(ssl.DER_cert_to_PEM_cert(certificate) for certificate in certificates))
