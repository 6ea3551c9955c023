"""Arrow arrays whose offsets lead beyond their buffers: no byte of other memory reaches a payload."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pytest

from srfix.serde import JsonDeserializer, JsonSerializer, SerdeContext, UsageError, deserialize_many, parse_columns
from srfix.serde.arrow import from_arrow, to_arrow

USERS = SerdeContext("users")
BEYOND, BACKWARDS = (0, 100, 4), (0, 3, 1)


def buffers(offsets: tuple[int, ...]) -> list[pa.Buffer | None]:
    return [None, pa.py_buffer(struct.pack(f"<{len(offsets)}i", *offsets)), pa.py_buffer(b"abcd")]


def made(type_: pa.DataType, offsets: tuple[int, ...]) -> pa.Array:
    return pa.Array.from_buffers(type_, len(offsets) - 1, buffers(offsets))


def over(lists: pa.DataType, offsets: tuple[int, ...], child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(lists, len(offsets) - 1, buffers(offsets)[:2], children=[child])


ARRAYS: dict[str, tuple[str, Callable[[tuple[int, ...]], pa.Array]]] = {
    "text": ("S STRING", lambda offsets: made(pa.string(), offsets)),
    "bytes": ("S BYTES", lambda offsets: made(pa.binary(), offsets)),
    "a list of text": (
        "S ARRAY<STRING>",
        lambda offsets: over(pa.list_(pa.string()), (0, 1, 2), made(pa.string(), offsets)),
    ),
    "a list": ("S ARRAY<INT>", lambda offsets: over(pa.list_(pa.int32()), offsets, pa.array(range(4), pa.int32()))),
    "text in a struct": (
        "S STRUCT<T STRING>",
        lambda offsets: pa.StructArray.from_arrays([made(pa.string(), offsets)], ["T"]),
    ),
    "a map": (
        "S MAP<STRING, STRING>",
        lambda offsets: pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), made(pa.string(), offsets)),
    ),
}


@pytest.mark.parametrize("offsets", [BEYOND, BACKWARDS], ids=["beyond", "backwards"])
@pytest.mark.parametrize("what", ARRAYS)
def test_rows_are_refused(what: str, offsets: tuple[int, ...]) -> None:
    columns, make = ARRAYS[what]
    batch = pa.RecordBatch.from_arrays([make(offsets)], ["S"])
    with pytest.raises(UsageError, match="malformed"):
        from_arrow(batch, JsonSerializer(parse_columns(columns)), USERS, on_error="quarantine")


@pytest.mark.parametrize("offsets", [BEYOND, BACKWARDS], ids=["beyond", "backwards"])
def test_payloads_are_refused(offsets: tuple[int, ...]) -> None:
    read = JsonDeserializer(parse_columns("S STRING"))
    for payloads in (made(pa.binary(), offsets), pa.chunked_array([made(pa.binary(), offsets)])):
        with pytest.raises(UsageError, match="malformed"):
            to_arrow(payloads, USERS, read, on_error="quarantine")
        with pytest.raises(UsageError, match="malformed"):
            deserialize_many(payloads, USERS, read, on_error="quarantine")


def test_indices_beyond_a_dictionary_are_refused() -> None:
    indices = pa.Array.from_buffers(pa.int8(), 2, [None, pa.py_buffer(b"\x00\x09")])
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]), safe=False)
    with pytest.raises(UsageError, match="malformed"):
        from_arrow(pa.RecordBatch.from_arrays([array], ["S"]), JsonSerializer(parse_columns("S STRING")), USERS)


@pytest.mark.parametrize(
    ("columns", "array"),
    [
        (
            "S STRING",
            pa.Array.from_buffers(pa.string(), 2, [None, *buffers((0, 2, 4))[1:2], pa.py_buffer(b"ab\xff\xfe")]),
        ),
        (
            "S ARRAY<STRING>",
            pa.Array.from_buffers(
                pa.list_(pa.string()),
                2,
                buffers((0, 1, 2))[:2],
                children=[
                    pa.Array.from_buffers(pa.string(), 2, [None, buffers((0, 2, 4))[1], pa.py_buffer(b"ab\xff\xfe")])
                ],
            ),
        ),
    ],
    ids=["text", "in a list"],
)
def test_text_that_is_not_utf_8_is_a_bad_row(columns: str, array: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([array], ["S"])
    written = from_arrow(batch, JsonSerializer(parse_columns(columns)), USERS, on_error="quarantine")
    assert written.positions.to_pylist() == [0]
    (bad,) = written.bad
    assert (bad.position, "is not UTF-8" in bad.message) == (1, True)
