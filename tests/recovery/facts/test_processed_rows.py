"""A row against the topic's record of its key: what says the same in another encoding is no other row.

| row | record | the same |
|---|---|---|
| equal bytes | | yes |
| a projection of it, in another letter case, under another schema | | yes |
| JSON with the same fields, or fewer | | yes |
| a field that the record has not, and that is not null | | no |
| another value of a field | | no |
| no schema and no JSON on one side, other bytes | | no |
| it cannot be decoded | | nobody knows |

Where the row may be a table's, whose serde fills in defaults:

| row | record | the same |
|---|---|---|
| fields that the record has not, beside some that it has: | | |
| … with the default of the row's Avro schema | | yes |
| … with another value, or without a default in it | | no |
| … in JSON, in a list, behind an alias, with a default that is not compared | | nobody knows |
| another value of a field, or no field in common | | no |
| other text than white space | | no |
| no schema and no JSON on one side, other bytes that are no text | | nobody knows |
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.processed_rows import Comparing
from srfix.recovery.registry import ReadableRegistry, usable
from srfix.recovery.state.formats.values import StoredValue
from srfix.serde.registry.client import RegistryClient
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Topic
from srfix.serde.wire import frame_id

WRITER = (
    '{"type":"record","name":"Rate","fields":[{"name":"euroCents","type":"long"},{"name":"days","type":{"type":"array",'
    '"items":"long"}},{"name":"note","type":"string"}]}'
)
READER = (
    '{"type":"record","name":"K","fields":[{"name":"EUROCENTS","type":["null","long"],"default":null},{"name":"DAYS","type":'
    '{"type":"array","items":"long"}},{"name":"OTHER","type":["null","string"],"default":null}]}'
)
WITH_ZONE = '{"type":"record","name":"K","fields":[{"name":"EUROCENTS","type":["null","long"],"default":null},%s]}'
"""The cents, and one field that no record has."""
ZONES = {
    3: '{"name":"ZONE","type":"string","default":"EU"}',
    4: '{"name":"ZONE","type":"string"}',
    5: '{"name":"ZONE","type":"string","default":"EU","aliases":["note"]}',
    6: '{"name":"ZONE","type":{"type":"bytes","logicalType":"decimal","precision":4},"default":"\\u0001"}',
    7: '{"name":"NOTE","type":["null",{"type":"record","name":"N","fields":[{"name":"Z","type":"string"}]}]}',
    8: '{"name":"ZONE","type":"boolean","default":false}',
}
"""By schema id."""
RECORD = frame_id(1, b"\x02" + b"\x02\x04\x00" + b"\x02x")
"""1 euro cent, the days [2], the note "x"."""
PROJECTED = frame_id(2, b"\x02\x02" + b"\x02\x04\x00" + b"\x00")
"""The same cents and days, no other."""


@pytest.fixture
def registry() -> Iterator[ReadableRegistry]:
    with FixtureRegistry() as running:
        running.seed("rates-value", WRITER)
        running.seed("shop-rates-store-changelog-value", READER)
        for schema_id, zone in ZONES.items():
            assert running.seed(f"zone-{schema_id}-value", WITH_ZONE % zone) == schema_id
        with RegistryClient(running.url) as client:
            yield usable(client)


@pytest.fixture
def comparing(registry: ReadableRegistry) -> Comparing:
    return Comparing(registry=registry, topic=Topic("rates"), context=DEFAULT_CONTEXT)


def record(value: bytes | None) -> RawRecord:
    return RawRecord(partition=0, offset=0, key=b"k", value=value)


@pytest.mark.parametrize(
    ("row", "value", "is_same"),
    [
        (RECORD, RECORD, True),
        (PROJECTED, RECORD, True),
        (frame_id(2, b"\x02\x04" + b"\x02\x04\x00" + b"\x00"), RECORD, False),  # another number of cents
        (frame_id(2, b"\x02\x02" + b"\x02\x06\x00" + b"\x00"), RECORD, False),  # another day
        (frame_id(2, b"\x02\x02" + b"\x04\x04\x06\x00" + b"\x00"), RECORD, False),  # a day more
        (frame_id(2, b"\x02\x02" + b"\x02\x04\x00" + b"\x02\x02y"), RECORD, False),  # a field that the record has not
        (frame_id(99, b"\x02"), RECORD, None),
        (frame_id(2, b""), RECORD, None),
        (b'{"a": 1}', b'{"a":1,"b":2}', True),
        (b'{"a": 1, "A": 1}', b'{"a":1,"A":1}', True),
        (b'{"a": 1}', b'{"a":2}', False),
        (b"[1]", b"[1, 2]", False),
        (b"{broken", b'{"a":1}', False),
        (b"ADA", b"ada", False),
        (b"ada", b"ada", True),
        (b"ada", RECORD, False),
        (b"ada", None, False),
    ],
)
def test_a_row_against_its_record(comparing: Comparing, row: bytes, value: bytes | None, is_same: bool | None) -> None:
    assert comparing.is_same(StoredValue(payload=row), record(value)) is is_same


@pytest.mark.parametrize(
    ("row", "value", "is_same"),
    [
        (PROJECTED, RECORD, True),
        (frame_id(2, b"\x02\x02" + b"\x02\x04\x00" + b"\x02\x02y"), RECORD, False),  # where the default is null
        (frame_id(3, b"\x02\x02" + b"\x04EU"), RECORD, True),  # a default of the reader's
        (frame_id(3, b"\x02\x02" + b"\x04NL"), RECORD, False),
        (frame_id(4, b"\x02\x02" + b"\x04EU"), RECORD, False),  # no serde can have filled it in
        (frame_id(4, b"\x02\x04" + b"\x04EU"), RECORD, False),
        (frame_id(5, b"\x02\x02" + b"\x02x"), RECORD, None),
        (frame_id(6, b"\x02\x02" + b"\x02\x01"), RECORD, None),
        (frame_id(7, b"\x02\x02" + b"\x02\x04EU"), RECORD, True),  # a record in the place of a text
        (frame_id(8, b"\x02\x02" + b"\x00"), RECORD, True),
        (frame_id(8, b"\x02\x02" + b"\x01"), RECORD, False),
        (frame_id(2, b"\x02\x04" + b"\x02\x04\x00" + b"\x00"), RECORD, False),
        (b'{"a": 1, "b": 0}', b'{"a":1}', None),
        (b'{"a": 2, "b": 0}', b'{"a":1}', False),
        (b'{"a": 1, "b": null}', b'{"a":1}', True),
        (b'[{"a": 1, "b": 0}]', b'[{"a":1}]', None),
        (b'{"a": "2020-06-16"}', b'{"a":18429}', True),
        (b'{"a": 2}', b'{"a":1}', False),
        (b'{"b": 100}', b'{"a":1}', False),
        (b'{"b": null}', b'{"a":1}', True),
        (b"[1]", b"[1, 2]", False),
        (b"TEXT OF ANN", b"text of ann", False),
        (b"<a> <b/> </a>", b"<a><b/></a>", True),
        (b"\x01\x02", b"\x01\x03", None),
        (b"\xff\x02", b"ada", None),
        (b"ada", RECORD, None),
    ],
)
def test_a_row_that_may_be_a_table_s_against_its_record(
    registry: ReadableRegistry, row: bytes, value: bytes, is_same: bool | None
) -> None:
    comparing = Comparing(registry=registry, topic=Topic("rates"), context=DEFAULT_CONTEXT, may_be_table=True)
    assert comparing.is_same(StoredValue(payload=row), record(value)) is is_same
