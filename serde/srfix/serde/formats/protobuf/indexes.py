"""Message indexes: they say which message of a schema a payload's body is (`MessageIndexes`, Confluent Platform 5.5).

They are zigzag varints: first the number of indexes, then each index. `00` is short for `[0]`, the first message of the file.
"""

from __future__ import annotations

from typing import Final

from srfix.serde.errors import DecodeError, TruncatedBodyError
from srfix.serde.java_ints import read_varint, written_varint
from srfix.serde.printable import counted

_MOST: Final = 32
"""The deepest nesting of messages that protoc accepts."""


def read_indexes(payload: bytes, offset: int) -> tuple[tuple[int, ...], int]:
    """The indexes at an offset, and the offset of the body."""
    count, offset = _varint(payload, offset)
    if not count:
        return (0,), offset
    if not 0 < count <= _MOST:
        raise DecodeError(
            f"The payload says that {count:,} message indexes follow, but messages nest at most {_MOST} levels deep. It is "
            "corrupt, or its producer is not a Protobuf serializer with a registry."
        )
    indexes: list[int] = []
    for _ in range(count):
        index, offset = _varint(payload, offset)
        if index < 0:
            raise DecodeError(f"The payload has the message index {index}. It is corrupt.")
        indexes.append(index)
    return tuple(indexes), offset


def written_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == (0,):
        return b"\0"
    return b"".join(map(written_varint, (len(indexes), *indexes)))


def _varint(payload: bytes, offset: int) -> tuple[int, int]:
    try:
        return read_varint(payload, offset, len(payload))
    except IndexError:
        raise TruncatedBodyError(
            f"The payload has {counted(len(payload), 'byte')} and ends within its message indexes. It was cut off, or its "
            "producer is not a Protobuf serializer with a registry."
        ) from None
    except ValueError:
        raise DecodeError("The payload has message indexes beyond 32 bits. It is corrupt.") from None
