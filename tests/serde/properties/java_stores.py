"""Java's key stores, made here: certificates and keys in JKS, as keytool writes them (tests/stack holds keytool's own)."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

CA = trustme.CA()
CA_PEM = CA.cert_pem.bytes()
OWN = CA.create_child_ca().issue_cert("me@example.com")
CHAIN = b"".join(blob.bytes() for blob in OWN.cert_chain_pems)
KEY = OWN.private_key_pem.bytes()
"""An authority, and a certificate by way of another authority of its own; PEM."""

Key = tuple[bytes, str, Sequence[bytes]]
"""PKCS#8 in DER, its password, its chain."""


def jks(password: str, *, trusted: Sequence[bytes] = (), keys: Sequence[Key] = ()) -> bytes:
    """A store; certificates are DER."""
    body = struct.pack(">III", 0xFEEDFEED, 2, len(trusted) + len(keys))
    for number, (key, key_password, chain) in enumerate(keys):
        hidden = _hidden(key, key_password)
        body += struct.pack(">I", 1) + _alias(f"key-{number}") + struct.pack(">I", len(hidden)) + hidden
        body += struct.pack(">I", len(chain)) + b"".join(map(_certificate, chain))
    for number, certificate in enumerate(trusted):
        body += struct.pack(">I", 2) + _alias(f"ca-{number}") + _certificate(certificate)
    return body + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def der(pem: bytes) -> list[bytes]:
    """The certificates of a PEM text."""
    return [each.public_bytes(Encoding.DER) for each in x509.load_pem_x509_certificates(pem)]


def key_der(pem: bytes) -> bytes:
    return load_pem_private_key(pem, None).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def key_store(chain: bytes, key: bytes, password: str) -> bytes:
    """A PKCS#12 of PEM texts."""
    own, *others = x509.load_pem_x509_certificates(chain)
    return pkcs12.serialize_key_and_certificates(
        b"me",
        load_pem_private_key(key, None),  # type: ignore[arg-type]
        own,
        others,
        BestAvailableEncryption(password.encode()),
    )


def trust_store(certificates: bytes, password: str) -> bytes:
    """A PKCS#12 of certificates alone."""
    return pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(each, b"ca") for each in x509.load_pem_x509_certificates(certificates)],
        BestAvailableEncryption(password.encode()),
    )


def with_rounds(store: bytes) -> bytes:
    """A PKCS#12 that asks for 2^31 - 1 rounds for its MAC: the last number in it. Lengths are left as they were."""
    assert store.endswith(b"\x02\x02\x08\x00")
    return store[:-4] + b"\x02\x04\x7f\xff\xff\xff"


def _alias(name: str) -> bytes:
    return struct.pack(">H", len(name)) + name.encode() + struct.pack(">Q", 0)


def _certificate(certificate: bytes) -> bytes:
    return struct.pack(">H", 5) + b"X.509" + struct.pack(">I", len(certificate)) + certificate


def _hidden(key: bytes, password: str) -> bytes:
    secret, salt = password.encode("utf-16-be"), os.urandom(20)
    stream, block = b"", salt
    while len(stream) < len(key):
        block = hashlib.sha1(secret + block).digest()
        stream += block
    protected = salt + bytes(a ^ b for a, b in zip(key, stream, strict=False)) + hashlib.sha1(secret + key).digest()
    algorithm = bytes.fromhex("300e060a2b060104012a021101010500")
    return _der(0x30, algorithm + _der(0x04, protected))


def _der(tag: int, content: bytes) -> bytes:
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content
