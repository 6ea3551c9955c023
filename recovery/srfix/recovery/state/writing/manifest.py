"""RocksDB's MANIFEST without the fields that an older RocksDB does not know.

It is a sequence of records in blocks of 32 KiB, each piece with a checksum (`db/log_format.h`):

    [4B masked CRC32C of type and content, little-endian][2B length, little-endian][1B type][content]

A record that does not fit its block is split into FIRST, MIDDLE … LAST; if the last bytes of a block are too few for a
header, they are zeros.

A record is a version edit: a sequence of fields, each `[varint tag][content]` (`VersionEdit::EncodeTo`). RocksDB 5.18, which
Kafka Streams up to 2.8 carries, refuses a whole database because of an unknown tag (`VersionEdit: unknown tag`).
RocksDB 10 always writes two such tags: the database's identity (8193), and whether timestamps of users are kept (8201).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from srfix.recovery.errors import StateDirectoryError

BLOCK_SIZE: Final = 32_768

_HEADER: Final = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MASK_DELTA: Final = 0xA282EAD8
_POLYNOMIAL: Final = 0x82F63B78
UNKNOWN_TO_5_18: Final = frozenset({8193, 8201})
"""`kDbId` and `kPersistUserDefinedTimestamps`."""

_SAFE_TO_IGNORE: Final = 1 << 13
"""Fields with this bit hold a length, and then that number of bytes."""
_END_OF_CUSTOM_FIELDS: Final = 1
_MOST_VARINT_BYTES: Final = 10


def strip_manifest(content: bytes, *, path: str) -> bytes:
    """A MANIFEST without these fields, checksums renewed; an edit without a remaining field is left out."""
    stripped = (strip_edit(record, path=path) for record in read_records(content, path=path))
    return write_records(edit for edit in stripped if edit)


def strip_edit(record: bytes, *, path: str) -> bytes:
    fields = fields_of(record, path)
    return b"".join(record[begin:end] for tag, begin, end in fields if tag not in UNKNOWN_TO_5_18)


def fields_of(record: bytes, path: str) -> list[tuple[int, int, int]]:
    fields = []
    at = 0
    while at < len(record):
        begin = at
        tag, at = _varint(record, at, path)
        skip = _sized if tag & _SAFE_TO_IGNORE else _SKIP.get(tag)
        if skip is None:
            raise _bad(path, f"a version edit has the tag {tag}, whose content srfix does not know")
        at = skip(record, at, path)
        if at > len(record):
            raise _bad(path, "a version edit is cut short")
        fields.append((tag, begin, at))
    return fields


def _varint(record: bytes, at: int, path: str) -> tuple[int, int]:
    number = 0
    for index in range(_MOST_VARINT_BYTES):
        if at + index >= len(record):
            break
        byte = record[at + index]
        number |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return number, at + index + 1
    raise _bad(path, "a version edit is cut short")


def _sized(record: bytes, at: int, path: str) -> int:
    size, at = _varint(record, at, path)
    return at + size


def _numbers(count: int) -> Callable[[bytes, int, str], int]:
    def skip(record: bytes, at: int, path: str) -> int:
        for _ in range(count):
            _, at = _varint(record, at, path)
        return at

    return skip


def _all_of(*parts: Callable[[bytes, int, str], int]) -> Callable[[bytes, int, str], int]:
    def skip(record: bytes, at: int, path: str) -> int:
        for part in parts:
            at = part(record, at, path)
        return at

    return skip


def _custom_fields(record: bytes, at: int, path: str) -> int:
    while True:
        tag, at = _varint(record, at, path)
        if tag == _END_OF_CUSTOM_FIELDS:
            return at
        at = _sized(record, at, path)


_SKIP: Final[Mapping[int, Callable[[bytes, int, str], int]]] = {
    1: _sized,  # the comparator's name
    2: _numbers(1),  # log number
    3: _numbers(1),  # next file number
    4: _numbers(1),  # last sequence number
    5: _all_of(_numbers(1), _sized),  # compact cursor: level and key
    6: _numbers(2),  # deleted file
    7: _all_of(_numbers(3), _sized, _sized),  # new file: level, number, size; the smallest and the largest key
    9: _numbers(1),  # previous log number
    10: _numbers(1),  # the lowest log number to keep
    100: _all_of(_numbers(3), _sized, _sized, _numbers(2)),  # the same, with sequence numbers
    102: _all_of(_numbers(4), _sized, _sized, _numbers(2)),
    103: _all_of(_numbers(3), _sized, _sized, _numbers(2), _custom_fields),
    200: _numbers(1),  # column family
    201: _sized,  # its name, when it is added
    202: _all_of(),  # it is dropped
    203: _numbers(1),  # the highest column family
    300: _numbers(1),  # edits left in an atomic group
}
"""Tag → the parts that follow it. Without blob files (400, 401), which srfix never writes."""


def _bad(path: str, problem: str) -> StateDirectoryError:
    return StateDirectoryError(f"{path}: {problem}. The file is damaged, or a newer RocksDB has written it.")


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_TABLE: Final = _crc_table()


def crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(content: bytes) -> int:
    """Its masked form, as in files (`crc32c::Mask`)."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def read_records(content: bytes, *, path: str) -> Iterator[bytes]:
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
            raise _bad_frame(path, at, "a record begins inside of another, or continues one that has not begun")
        pieces.append(piece)
        if kind in (_FULL, _LAST):
            yield b"".join(pieces)
            pieces.clear()
    if pieces:
        raise _bad_frame(path, at, "the last record is cut short")


def write_records(records: Iterable[bytes]) -> bytes:
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
        raise _bad_frame(path, at, "the header of a record is cut short")
    crc, length, kind = _HEADER.unpack_from(content, at)
    piece = content[at + _HEADER.size : at + _HEADER.size + length]
    if len(piece) != length or _HEADER.size + length > left:
        raise _bad_frame(path, at, "a record is cut short")
    if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
        raise _bad_frame(path, at, f"a piece of a record has the unknown type {kind}")
    if masked_crc(bytes([kind]) + piece) != crc:
        raise _bad_frame(path, at, "the checksum of a record does not match")
    return kind, piece


def _bad_frame(path: str, at: int, problem: str) -> StateDirectoryError:
    return StateDirectoryError(f"{path}, byte {at:,}: {problem}. The file is damaged; write the directory again.")
