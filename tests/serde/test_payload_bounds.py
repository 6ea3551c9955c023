"""What bounds do where they are set: shipped, told, remembered. That payloads keep to them is in `tests/serde/fuzz`."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.decoding import RecordDecoder, record_document, shown
from srfix.serde.arrow.decode import BatchEngine, ValueWise, to_arrow
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.batches.rows import chunks_of_rows, deserialize_many
from srfix.serde.bounds import PayloadBounds, bound_payloads, payload_bounds, remember
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer
from srfix.serde.errors import Reason, ResolveError
from srfix.serde.formats.json.decode import _Readers
from srfix.serde.formats.table import Format
from srfix.serde.interface import BadRow, SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.specs import ReadSpec
from srfix.serde.subjects.names import Role
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import decimal, record
from tests.serde.fakes import MemoryRegistry

TOPIC = SerdeContext("t")
DECIMAL = json.dumps(record(A=decimal(9, 2)))


@pytest.fixture
def bounded() -> Iterator[None]:
    before = payload_bounds()
    yield
    bound_payloads(before)


def _decimal(size: int) -> bytes:
    number = size << 1
    head = bytes([number & 0x7F | 0x80, number >> 7]) if number > 0x7F else bytes([number])
    return head + b"\1" * size


class TestBadRows:
    def test_a_decimal_beyond_its_bound_is_one_bad_row_with_its_own_reason(self) -> None:
        registry = MemoryRegistry()
        schema_id = registry.seed("t-value", DECIMAL)
        payloads = [frame_id(schema_id, _decimal(size)) for size in (3, 4_097, 4_096)]
        read = AvroDeserializer(ById(registry))
        first, bad, last = deserialize_many(payloads, TOPIC, read, on_error="quarantine")
        assert isinstance(bad, BadRow)
        assert not isinstance(first, BadRow)
        assert not isinstance(last, BadRow)
        assert bad.reason is Reason.BEYOND_BOUNDS
        assert "4,097 bytes; srfix converts at most 4,096" in bad.error.message
        assert "srfix.serde.bounds: decimal_bytes" in bad.error.message

    @pytest.mark.usefixtures("bounded")
    def test_bounds_can_be_raised_and_lifted(self) -> None:
        registry = MemoryRegistry()
        payload = frame_id(registry.seed("t-value", DECIMAL), _decimal(4_097))
        for bounds in (PayloadBounds(decimal_bytes=5_000), PayloadBounds.lifted()):
            bound_payloads(bounds)
            assert AvroDeserializer(ById(registry))(payload, TOPIC) is not None

    @pytest.mark.usefixtures("bounded")
    @pytest.mark.parametrize("engine", [RowWise, ValueWise])
    def test_large_payloads_are_read_a_few_at_a_time_and_stay_in_order(self, engine: BatchEngine) -> None:
        bound_payloads(PayloadBounds(batch_bytes=100))
        registry = MemoryRegistry()
        schema_id = registry.seed("t-value", '{"type":"record","name":"R","fields":[{"name":"A","type":"string"}]}')
        texts = ["x" * (number % 63) for number in range(500)]
        payloads: list[bytes | None] = [frame_id(schema_id, bytes([2 * len(text)]) + text.encode()) for text in texts]
        payloads[7] = None
        payloads[400] = b"no frame"
        read = AvroDeserializer(ById(registry), columns=parse_columns("A STRING"))
        assert max(map(len, chunks_of_rows(payloads, TOPIC, read))) < 20
        batch = to_arrow(payloads, TOPIC, read, on_error="quarantine", engine=engine)
        rows = batch.to_pylist()
        assert [row["A"] for number, row in enumerate(rows) if number not in (7, 400)] == [
            text for number, text in enumerate(texts) if number not in (7, 400)
        ]
        assert [rows[7]["_srfix_reason"], rows[400]["_srfix_reason"]] == ["TOMBSTONE", "BAD_MAGIC"]
        listed = list(deserialize_many(payloads, TOPIC, read, on_error="quarantine"))
        assert isinstance(listed[400], BadRow)
        assert listed[400].position == 400

    @pytest.mark.usefixtures("bounded")
    def test_a_worker_has_the_drivers_bounds(self) -> None:
        before = bound_payloads(PayloadBounds(values=10, values_per_byte=0))
        plan = ReadPlan(
            topic="t",
            role=Role.VALUE,
            format=Format.JSON,
            spec=ReadSpec(
                columns=parse_columns(f"A ARRAY<STRUCT<{', '.join(f'C{number} INT' for number in range(7))}>>")
            ),
            policy=None,
        )
        bound_payloads(before)
        decoded = PlanDecoder(pickle.loads(pickle.dumps(plan)))(pa.array([b'{"A":[{}]}', b'{"A":[]}'], pa.binary()))
        assert [each["reason"] for each in decoded.to_pylist()] == ["BEYOND_BOUNDS", None]


class TestShown:
    def test_a_row_that_nests_too_deep_to_be_shown_is_a_failed_record(self) -> None:
        body = b'{"A":' * 900 + b"1" + b"}" * 900
        record = RawRecord(partition=0, offset=1, timestamp=None, key=None, value=body, headers=())
        decoder = RecordDecoder(ById(MemoryRegistry()), make=lambda _resolver, _role: JsonDeserializer())
        (decoded,) = map(shown, decoder.decode("t", [record]))
        assert decoded.failed
        document = record_document(decoded).to_json()
        assert json.dumps(document)
        assert document["errors"] == [
            {"role": "value", "kind": "PayloadBoundError", "message": decoded.value.error.message}  # type: ignore[union-attr]
        ]


class TestRemembered:
    @given(st.lists(st.integers(0, 30)), st.integers(1, 8))
    def test_the_newest_are_there_and_no_more_than_may_be(self, keys: list[int], most: int) -> None:
        known: dict[int, int] = {}
        for key in keys:
            remember(known, key, -key, most)
            assert known[key] == -key
            assert len(known) <= most

    def test_sets_of_json_keys_are_forgotten_by_their_bytes(self) -> None:
        readers = _Readers(CaseRule.UNIQUE)
        read = readers.of(parse_columns("A STRUCT<X INT>")[0].type, "$")
        shapes = readers.shapes
        for number in range(10_000):
            assert read({f"{number:01000d}": 1, "x": number}) == {"X": number}
        held = sum(size for _, _, size in shapes._remembered)
        assert held <= payload_bounds().shape_bytes
        assert 0 < len(shapes._remembered) <= payload_bounds().shapes
        own = read.__self__._plans  # type: ignore[attr-defined]  # a bound method
        assert len(own) == len(shapes._remembered)
        assert sum(sys.getsizeof(key) for keys in own for key in keys) <= payload_bounds().shape_bytes

    def test_a_set_that_would_displace_all_others_is_not_remembered(self) -> None:
        readers = _Readers(CaseRule.UNIQUE)
        assert readers.of(parse_columns("A STRUCT<X INT>")[0].type, "$")({"k" * 1_000_000: 1, "x": 2}) == {"X": 2}
        assert not readers.shapes._remembered

    def test_refused_guids_that_begin_alike_are_found_without_a_search(self) -> None:
        """Each payload of a batch was compared with all refused ones of the same first five bytes."""
        registry = MemoryRegistry()
        guids = [UUID(int=(0xABCD << 112) + number) for number in range(2_000)]
        payloads = [b"\1" + guid.bytes + b"body" for guid in guids] * 2
        read = AvroDeserializer(_Counting(registry))
        rows = list(deserialize_many(payloads, TOPIC, read, on_error="quarantine"))
        assert all(isinstance(row, BadRow) and row.reason is Reason.UNKNOWN_ID for row in rows)
        assert _Counting.asked == len(guids)


class _Counting(ById):
    asked = 0

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role):  # type: ignore[no-untyped-def]
        _Counting.asked += 1
        raise ResolveError(f"{guid} is not known.")
