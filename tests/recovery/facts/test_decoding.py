"""Records decoded many at a time: what is said of each is what is said of it alone."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.decoding import DecodedPart, RecordDecoder
from srfix.serde import ById, RegistryClient, Role, Schema
from srfix.serde.wire import prefix_id_bytes, schema_id_header

LONG = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
GUID = UUID(int=7)


@pytest.fixture(scope="module")
def resolver() -> Iterator[ById]:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        client.register("users-value", Schema(text=LONG))
        yield ById(client)


def payloads(schema_id: int) -> st.SearchStrategy[bytes | None]:
    framed = st.sampled_from([b"\x02", b"\x80\x01", b"", b"\x02\x02"]).map(prefix_id_bytes(schema_id).__add__)
    return framed | framed | st.none() | st.binary(max_size=6)


HEADERS = st.sampled_from(
    [
        (),
        (),
        (("h", b"x"),),
        ((schema_id_header(Role.VALUE), b"\1" + GUID.bytes),),
        ((schema_id_header(Role.VALUE), b""),),
    ]
)
"""None; another one; a GUID that no registry has; one that is none."""


@given(data=st.data())
def test_a_column_says_of_each_what_is_said_of_it_alone(resolver: ById, data: st.DataObject) -> None:
    schema_id = data.draw(st.sampled_from([1, 1, 99]))
    values = data.draw(st.lists(payloads(schema_id), max_size=8))
    headers = data.draw(st.none() | st.lists(HEADERS, min_size=len(values), max_size=len(values)))
    topic, told = "users", headers or [()] * len(values)
    records = [
        RawRecord(partition=0, offset=0, key=None, value=value, headers=each, timestamp=None)
        for value, each in zip(values, told, strict=True)
    ]
    decoder = RecordDecoder(resolver)
    alone = [record.value for record in decoder.decode(topic, records)]
    column = decoder.decode_column(topic, Role.VALUE, values, headers)
    parts = [decoder.part(column, place, Role.VALUE, told[place]) for place in range(len(values))]
    assert list(map(described, parts)) == list(map(described, alone))
    assert column.schema_ids == [part.schema_id for part in alone]
    assert column.values == [part.value for part in alone]
    assert sorted(column.errors) == [place for place, part in enumerate(alone) if part.error is not None]


def described(part: DecodedPart) -> tuple[object, ...]:
    error = part.error
    said = None if error is None else (type(error), error.message)
    return part.payload, part.is_decoded, part.value, part.schema_id, part.guid, part.subject, part.registered_id, said


def test_what_is_not_asked_for_stays_bytes(resolver: ById) -> None:
    column = RecordDecoder(resolver).decode_column("users", Role.KEY, [b"a", None])
    assert (column.is_decoded, column.values, column.schema_ids, column.errors) == (False, [None] * 2, [None] * 2, {})
