"""The frame of RocksDB's MANIFEST (`db/log_format.h`): records in blocks of 32 KiB, each piece with a checksum.

    [4B masked CRC32C of type and content, little-endian][2B length, little-endian][1B type][content]

A record that does not fit its block is cut into FIRST, MIDDLE … LAST; a block's last bytes that hold no header are zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from srfix.recovery.errors import StateDirectoryError

BLOCK_SIZE: Final = 32_768
"""In bytes."""

_HEADER: Final = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MASK_DELTA: Final = 0xA282EAD8
_POLYNOMIAL: Final = 0x82F63B78


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_TABLE: Final = _table()


def crc32c(content: bytes) -> int:
    """The CRC-32 with Castagnoli's polynomial."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(content: bytes) -> int:
    """Its masked form, which stands in files (`crc32c::Mask`)."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def read_records(content: bytes, *, path: str) -> Iterator[bytes]:
    """The records of a file.

    :param path: the file's name, for messages.
    :raises StateDirectoryError: if a checksum does not match, a record is cut short, or a piece has another type.
    """
    pieces: list[bytes] = []
    at = 0
    while at < len(content):
        left = BLOCK_SIZE - at % BLOCK_SIZE
        if left < _HEADER.size:
            at += left
            continue
        kind, piece = _piece(content, at, left, path)
        at += _HEADER.size + len(piece)
        if (kind in (_FULL, _FIRST)) == bool(pieces):
            raise _bad(path, at, "a record begins inside of another, or continues one that has not begun")
        pieces.append(piece)
        if kind in (_FULL, _LAST):
            yield b"".join(pieces)
            pieces.clear()
    if pieces:
        raise _bad(path, at, "the last record is cut short")


def write_records(records: Iterable[bytes]) -> bytes:
    """A file with these records."""
    out = bytearray()
    for record in records:
        at, is_first = 0, True
        while is_first or at < len(record):
            left = BLOCK_SIZE - len(out) % BLOCK_SIZE
            if left < _HEADER.size:
                out += bytes(left)
                continue
            piece = record[at : at + left - _HEADER.size]
            at += len(piece)
            is_last = at == len(record)
            kind = (_FULL if is_last else _FIRST) if is_first else (_LAST if is_last else _MIDDLE)
            out += _HEADER.pack(masked_crc(bytes([kind]) + piece), len(piece), kind) + piece
            is_first = False
    return bytes(out)


def _piece(content: bytes, at: int, left: int, path: str) -> tuple[int, bytes]:
    if at + _HEADER.size > len(content):
        raise _bad(path, at, "the header of a record is cut short")
    crc, length, kind = _HEADER.unpack_from(content, at)
    piece = content[at + _HEADER.size : at + _HEADER.size + length]
    if len(piece) != length or _HEADER.size + length > left:
        raise _bad(path, at, "a record is cut short")
    if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
        raise _bad(path, at, f"a piece of a record has the type {kind}, which is not known")
    if masked_crc(bytes([kind]) + piece) != crc:
        raise _bad(path, at, "the checksum of a record does not match")
    return kind, piece


def _bad(path: str, at: int, problem: str) -> StateDirectoryError:
    return StateDirectoryError(f"{path}, byte {at:,}: {problem}. The file is damaged; write the directory anew.")
