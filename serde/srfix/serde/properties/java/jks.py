"""Java's own key store format (JKS), as `sun.security.provider.JavaKeyStore` writes it.

    store = 0xFEEDFEED version count { entry } SHA-1(password, "Mighty Aphrodite", all before)
    entry = 1 alias time key count { certificate } | 2 alias time certificate

By hand: the one library for it (pyjks) is from 2020, and what it needs does not build everywhere. Numbers are big-endian, texts
are behind their lengths. A key is hidden by a key stream of SHA-1 over password and salt (`KeyProtector`).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, field
from typing import Final

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST: Final = 20
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2


class WrongPasswordError(ValueError):
    """The store, or a key in it, has another password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """A private key, hidden, and the certificates that vouch for it, its own first; DER."""

    hidden_key: bytes = field(repr=False)
    """As the store holds it: an `EncryptedPrivateKeyInfo`."""
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaKeyStore:
    """What a store holds."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]
    """The certificates that stand alone; DER."""


def read_jks(content: bytes, password: str | None) -> JavaKeyStore:
    """The entries.

    :param password: None: whether the store was changed is then not looked at, as Java does it.
    """
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
    """The private key, PKCS#8 in DER."""
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
    """Bytes, from the front."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def bytes_(self, form: str) -> bytes:
        """What stands behind its length."""
        length = self.number(form)
        content = self._content[self._at : self._at + length]
        if len(content) != length:
            raise struct.error
        self._at += length
        return content


def _read(reader: _Reader) -> JavaKeyStore:
    magic, version = reader.number("I"), reader.number("I")
    if magic != int.from_bytes(MAGIC, "big") or version not in (1, 2):
        raise ValueError("it is no Java key store of version 1 or 2")

    def certificate() -> bytes:
        if version == 2 and reader.bytes_("H") != b"X.509":
            raise ValueError("it holds a certificate that is no X.509")
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
            raise ValueError("it holds an entry of a kind that JKS has not")
    return JavaKeyStore(keys=tuple(keys), trusted=tuple(trusted))


def _octets(der: bytes) -> bytes:
    """Of SEQUENCE { SEQUENCE algorithm, OCTET STRING } the octets."""
    outer, _ = _element(der, 0x30)
    _, behind = _element(outer, 0x30)
    octets, _ = _element(behind, 0x04)
    if len(octets) < 2 * _DIGEST:
        raise ValueError("the key in it is cut off")
    return octets


def _element(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of a DER element, and what stands behind it."""
    if len(der) < 2 or der[0] != tag:
        raise ValueError("the key in it is hidden in a way that JKS has not")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    return der[start : start + length], der[start + length :]


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")
