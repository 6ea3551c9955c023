"""Schemas that refer to others: followed in order when an id is resolved, and read as if they stood in one text."""

from __future__ import annotations

import json

import pytest

from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ResolveError
from srfix.serde.formats.avro.format import columns_from_avro
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.schemas.references import reference_name, reference_texts
from srfix.serde.subjects.strategies import FixedSubject, TopicSubject
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import body, enum, record
from tests.serde.fakes import MemoryRegistry

CURRENCY = enum("EUR", "DKK", name="shop.Currency")
MONEY = record("shop.Money", amount="long", currency="Currency")
PAID, OF = ["null", "shop.Money"], "shop.Currency"
ORDER = record("orders.Order", price="shop.Money", paid=PAID, of=OF)
INLINE = record("orders.Order", price=record("shop.Money", amount="long", currency=CURRENCY), paid=PAID, of=OF)
ROW = {"price": {"amount": 5, "currency": "DKK"}, "paid": {"amount": 4, "currency": "EUR"}, "of": "EUR"}
CTX = SerdeContext("orders")


@pytest.fixture
def registry() -> MemoryRegistry:
    """Currency (id 1), Money (2), which refers to it, Order (3), which refers to Money and through it to Currency."""
    made = MemoryRegistry()
    made.seed("currency", json.dumps(CURRENCY))
    for subject, schema, name, of in (
        ("money", MONEY, "shop.Currency", "currency"),
        ("orders-value", ORDER, "shop.Money", "money"),
    ):
        schema_id = made.seed(subject, json.dumps(schema))
        references = (SchemaReference(name=name, subject=of, version=1),)
        made.schemas[schema_id] = Schema(text=json.dumps(schema), references=references)
    return made


def payload() -> bytes:
    return frame_id(3, body(INLINE, ROW))


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
    order, inline, *parts = map(json.dumps, (ORDER, INLINE, CURRENCY, MONEY))
    assert columns_from_avro(order, references=tuple(parts)) == columns_from_avro(inline)


@pytest.mark.parametrize("schema_type", ["JSON", "PROTOBUF"])
def test_texts_of_types_that_refer_by_name_know_their_names(registry: MemoryRegistry, schema_type: str) -> None:
    schema = Schema(
        text="", schema_type=schema_type, references=(SchemaReference(name="a.proto", subject="money", version=1),)
    )
    assert [*map(reference_name, reference_texts(registry, schema))] == ["shop.Currency", "a.proto"]
