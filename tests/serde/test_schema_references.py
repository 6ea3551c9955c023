"""Schemas that refer to others: followed in order when an id is resolved, and read as if they stood in one text."""

from __future__ import annotations

import json

import pytest

from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ResolveError
from srfix.serde.formats.avro.infer import columns_from_avro
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.models import Schema, SchemaReference
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.subjects.strategies import FixedSubject, TopicSubject
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import body
from tests.serde.fakes import MemoryRegistry

CURRENCY = '{"type":"enum","name":"Currency","namespace":"shop","symbols":["EUR","DKK"]}'
MONEY = (
    '{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"amount","type":"long"},'
    '{"name":"currency","type":"Currency"}]}'
)
ORDER = (
    '{"type":"record","name":"Order","namespace":"orders","fields":[{"name":"price","type":"shop.Money"},'
    '{"name":"paid","type":["null","shop.Money"],"default":null},{"name":"in","type":"shop.Currency"}]}'
)
INLINE = (
    '{"type":"record","name":"Order","namespace":"orders","fields":[{"name":"price","type":{"type":"record","name":"Money",'
    '"namespace":"shop","fields":[{"name":"amount","type":"long"},{"name":"currency","type":{"type":"enum","name":"Currency",'
    '"symbols":["EUR","DKK"]}}]}},{"name":"paid","type":["null","shop.Money"],"default":null},'
    '{"name":"in","type":"shop.Currency"}]}'
)
ROW = {"price": {"amount": 5, "currency": "DKK"}, "paid": {"amount": 4, "currency": "EUR"}, "in": "EUR"}
CTX = SerdeContext("orders")


@pytest.fixture
def registry() -> MemoryRegistry:
    """Currency (id 1), Money (2), which refers to it, Order (3), which refers to Money and through it to Currency."""
    made = MemoryRegistry()
    made.seed("currency", CURRENCY)
    made.seed("money", MONEY)
    made.schemas[2] = Schema(
        text=MONEY, references=(SchemaReference(name="shop.Currency", subject="currency", version=1),)
    )
    made.seed("orders-value", ORDER)
    made.schemas[3] = Schema(text=ORDER, references=(SchemaReference(name="shop.Money", subject="money", version=1),))
    return made


def payload() -> bytes:
    return frame_id(3, body(json.loads(INLINE), ROW))


def resolvers(registry: MemoryRegistry) -> dict[str, Resolver]:
    return {
        "by id": ById(registry),
        "one subject": UnderOneSubject(registry),
        "dual subject": DualSubject(registry, first=FixedSubject(value="phantom-value"), second=TopicSubject()),
    }


@pytest.mark.parametrize("how", ["by id", "one subject", "dual subject"])
class TestReading:
    def test_gives_what_the_text_in_one_piece_gives(self, registry: MemoryRegistry, how: str) -> None:
        assert AvroDeserializer(resolvers(registry)[how])(payload(), CTX) == ROW

    def test_a_reference_that_is_gone_is_named(self, registry: MemoryRegistry, how: str) -> None:
        del registry.subjects["currency"]
        with pytest.raises(ResolveError, match="The schema behind id 3, carried by a value of"):
            AvroDeserializer(resolvers(registry)[how])(payload(), CTX)


def test_columns_are_inferred_through_them() -> None:
    assert columns_from_avro(ORDER, references=(CURRENCY, MONEY)) == columns_from_avro(INLINE)
