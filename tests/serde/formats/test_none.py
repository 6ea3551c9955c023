"""NONE: nothing is looked at, and nothing written (`NoneFormat`, `KsqlVoidSerde`)."""

from __future__ import annotations

import pickle

import pytest

from srfix.serde import NoneDeserializer, NoneSerializer, Role, SerdeContext, deserialize_many
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import deserializer_of
from srfix.serde.errors import ColumnError
from srfix.serde.formats import none
from srfix.serde.formats.table import Format
from srfix.serde.specs import ReadSpec, WriteSpec

KEY = SerdeContext("t", Role.KEY)


def test_whatever_the_bytes_are_they_are_null() -> None:
    # `LaxVoidDeserializer`; Kafka's own `VoidDeserializer` refuses bytes.
    for deserialize in (NoneDeserializer(), pickle.loads(pickle.dumps(NoneDeserializer()))):
        assert [*deserialize_many([None, b"", b"\xff"], KEY, deserialize)] == [None, None, None]
    assert deserializer_of(Format.NONE, ReadSpec(), None)(b"7", KEY) is None


def test_whatever_the_row_is_its_bytes_are_none() -> None:
    for serialize in (NoneSerializer(), pickle.loads(pickle.dumps(NoneSerializer()))):
        assert [serialize(row, KEY) for row in (None, {"A": 1}, 7)] == [None, None, None]


def test_it_has_no_columns() -> None:
    columns = parse_columns("A INT")
    for make in (
        lambda: none.decoder(None, ReadSpec(columns=columns)),
        lambda: none.encoder(None, WriteSpec(columns=columns)),
    ):
        with pytest.raises(
            ColumnError, match=r"^The NONE format can only be used when no columns are defined\. Got: A INTEGER\. Leave"
        ):
            make()
