"""Many payloads at a time."""

from __future__ import annotations

import json
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import errors
from srfix.serde.batches import rows as batches
from srfix.serde.batches.rows import deserialize_many, error_at
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import (
    Reason,
    RegistryError,
    ResolveError,
    SrfixError,
    TruncatedBodyError,
    UsageError,
)
from srfix.serde.interface import ABOUT_A_PAYLOAD, ABOUT_A_ROW, BadRow, Context, Contexts, SerdeContext, Value
from srfix.serde.resolve.policies import ById, UnderOneSubject
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role
from srfix.serde.wire import frame_guid, frame_id, parse
from tests.serde.avro_schemas import DATE, record
from tests.serde.fakes import MemoryRegistry

TEXT = json.dumps(record(id="int", Name="string"))
DATES = json.dumps(record("D", at=DATE))
TWINS = json.dumps(record("T", id="int", Id="int"))
VALUE = SerdeContext("orders")
GOOD = frame_id(1, b"\x0e\x06tea")
ROW = {"id": 7, "Name": "tea"}
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SrfixError)]


@pytest.fixture
def registry() -> MemoryRegistry:
    registry = MemoryRegistry()
    registry.seed("orders-value", TEXT)
    registry.seed("other-value", DATES)
    registry.seed("orders-value", TWINS)
    registry.schemas[4] = Schema(text="{}", schema_type="PROTOBUF")
    return registry


def read(
    registry: MemoryRegistry, payloads: Sequence[bytes | None], ctx: Contexts = VALUE
) -> list[tuple[int, Reason] | Value]:
    """The rows; of bad ones the position and the reason."""
    rows = deserialize_many(payloads, ctx, AvroDeserializer(ById(registry)), on_error="quarantine")
    return [(row.position, row.reason) if isinstance(row, BadRow) else row for row in rows]


@pytest.mark.core
class TestReasons:
    def test_every_reason_of_an_error_is_that_of_some_class_and_is_written_down(self) -> None:
        given = {kind.row_reason for kind in KINDS} - {None}
        assert given == set(Reason) - {Reason.TOMBSTONE, Reason.NO_PLAN}
        assert [reason for reason in Reason if f"`{reason.value}`" not in (batches.__doc__ or "")] == []
        assert [reason for reason in Reason if not reason.is_error] == [Reason.TOMBSTONE]

    def test_whatever_is_about_one_record_has_a_reason(self) -> None:
        kinds: set[type[SrfixError]] = {*ABOUT_A_PAYLOAD, *ABOUT_A_ROW}
        assert [kind for kind in kinds if kind("what, where, what next").row_reason is None] == []

    def test_a_child_has_its_own_reason_or_its_parents(self) -> None:
        parents = [(kind, parent) for kind in KINDS for parent in KINDS if issubclass(kind, parent)]
        assert [kind for kind, parent in parents if kind.row_reason is None and parent.row_reason is not None] == []

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            ("PayloadTooShortError", "TOO_SHORT"),
            ("UnknownMagicByteError", "BAD_MAGIC"),
            ("ImpossibleSchemaIdError", "BAD_ID"),
            ("MalformedHeaderError", "BAD_FRAMING"),
            ("WireError", "BAD_FRAMING"),
            ("ResolveError", "UNKNOWN_ID"),
            ("SubjectVersionError", "NOT_UNDER_SUBJECT"),
            ("DualSubjectError", "NOT_UNDER_SUBJECT"),
            ("SchemaError", "BAD_SCHEMA"),
            ("AmbiguousFieldError", "AMBIGUOUS_CASE"),
            ("TruncatedBodyError", "TRUNCATED"),
            ("TrailingBytesError", "TRAILING_BYTES"),
            ("IncompatibleTypeError", "TYPE_MISMATCH"),
            ("CoercionError", "BAD_VALUE"),
            ("OutOfRangeError", "OVERFLOW"),
            ("DecodeError", "DECODE_FAILED"),
            ("EncodeError", "ENCODE_FAILED"),
            ("RegistryError", None),
            ("SecretError", None),
            ("UsageError", None),
            ("SrfixError", None),
        ],
    )
    def test_the_class_of_an_error_says_the_reason(self, kind: str, reason: str | None) -> None:
        found = cast("type[SrfixError]", getattr(errors, kind))("what, where, what next").row_reason
        assert found == (None if reason is None else Reason(reason))


class TestDeserializeMany:
    @pytest.mark.parametrize(
        ("payload", "reason"),
        [
            (b"", "TOO_SHORT"),
            (b"\x00\x00", "TOO_SHORT"),
            (b"\x01abc", "TOO_SHORT"),
            (b'{"id": 7}', "BAD_MAGIC"),
            (frame_id(99, b"\x0e\x06tea"), "UNKNOWN_ID"),
            (GOOD[:-1], "TRUNCATED"),
            (GOOD + b"!", "TRAILING_BYTES"),
            (frame_id(1, b"\x0e\x06\xff\xff\xff"), "DECODE_FAILED"),
            (frame_id(2, b"\xfe\xff\xff\xff\x0f"), "OVERFLOW"),
            (frame_id(4, b""), "BAD_SCHEMA"),
        ],
    )
    def test_a_bad_row_is_a_value_with_its_reason_and_disturbs_no_other(
        self, registry: MemoryRegistry, payload: bytes, reason: str
    ) -> None:
        rows = [GOOD, payload, None, payload, GOOD]
        assert read(registry, rows) == [ROW, (1, Reason(reason)), None, (3, Reason(reason)), ROW]

    def test_a_bad_row_has_the_error_and_the_bytes_and_no_frames(self, registry: MemoryRegistry) -> None:
        (row,) = deserialize_many([GOOD[:-1]], VALUE, AvroDeserializer(ById(registry)), on_error="quarantine")
        assert isinstance(row, BadRow)
        assert (row.payload, type(row.error)) == (GOOD[:-1], TruncatedBodyError)
        error: BaseException | None = row.error
        while error is not None:
            assert error.__traceback__ is None
            error = error.__cause__ or error.__context__
        copied = pickle.loads(pickle.dumps(row))
        assert (copied.position, copied.reason, str(copied.error)) == (0, Reason.TRUNCATED, str(row.error))

    @pytest.mark.parametrize("several", [False, True], ids=["one context", "a context each"])
    def test_payloads_may_come_from_any_iterable(self, registry: MemoryRegistry, several: bool) -> None:
        payloads = [GOOD] * 1_000 + [None, GOOD[:-1], GOOD]
        ctx = [VALUE] * len(payloads) if several else VALUE
        read_ = AvroDeserializer(ById(registry))
        *_, tombstone, bad, last = deserialize_many(iter(payloads), ctx, read_, on_error="quarantine")
        assert isinstance(bad, BadRow)
        assert (tombstone, bad.position, last) == (None, 1_001, ROW)

    @pytest.mark.parametrize(
        "make", [deque, lambda many: dict(enumerate(many)).values(), lambda many: {many[0]: 1}.keys()]
    )
    def test_nor_need_it_be_one_that_can_be_sliced(self, registry: MemoryRegistry, make: Callable[..., Any]) -> None:
        assert {repr(row) for row in deserialize_many(make([GOOD]), VALUE, AvroDeserializer(ById(registry)))} == {
            repr(ROW)
        }

    @pytest.mark.parametrize("payloads", [GOOD, "text", 7])
    def test_one_payload_is_not_many(self, registry: MemoryRegistry, payloads: Any) -> None:
        with pytest.raises(UsageError, match="they must be a list, an iterator"):
            deserialize_many(payloads, VALUE, AvroDeserializer(ById(registry)))

    def test_what_is_no_payload_is_named(self, registry: MemoryRegistry) -> None:
        with pytest.raises(UsageError, match="A payload is of the type int"):
            list(deserialize_many(cast("Any", [7]), VALUE, AvroDeserializer(ById(registry)), on_error="quarantine"))

    def test_no_more_is_taken_of_an_iterator_than_is_read_ahead(self, registry: MemoryRegistry) -> None:
        taken: list[int] = []
        endless = (taken.append(number) or GOOD for number in count())  # type: ignore[func-returns-value]
        assert next(deserialize_many(endless, VALUE, AvroDeserializer(ById(registry)))) == ROW
        assert len(taken) == 1_000

    def test_an_error_that_is_its_own_cause_ends(self) -> None:
        def fail(payload: bytes | None, ctx: Context) -> Value:
            error, other = TruncatedBodyError("one"), TruncatedBodyError("other")
            error.__cause__, other.__cause__ = other, error
            raise error

        (row,) = deserialize_many([b""], VALUE, fail, on_error="quarantine")
        assert isinstance(row, BadRow)
        assert row.reason is Reason.TRUNCATED

    def test_letter_case_and_types_have_their_own_reasons(self, registry: MemoryRegistry) -> None:
        deserializer = AvroDeserializer(ById(registry), columns=parse_columns("ID INT, NAME INT"))
        rows = list(deserialize_many([GOOD, frame_id(3, b"\x02\x04")], VALUE, deserializer, on_error="quarantine"))
        reasons = [row.reason for row in rows if isinstance(row, BadRow)]
        assert reasons == [Reason.TYPE_MISMATCH, Reason.AMBIGUOUS_CASE]

    def test_an_outage_is_raised_in_quarantine_too(self, registry: MemoryRegistry) -> None:
        registry.failures["schema_by_id"] = RegistryUnreachableError([("http://registry.test", "refused")])
        with pytest.raises(RegistryError):
            read(registry, [GOOD])

    def test_what_is_no_error_of_ours_is_raised(self) -> None:
        def fail(payload: bytes | None, ctx: Context) -> Value:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            list(deserialize_many([b""], VALUE, fail, on_error="quarantine"))

    def test_without_quarantine_the_error_says_the_position_behind_the_rows_before_it(
        self, registry: MemoryRegistry
    ) -> None:
        rows = deserialize_many([GOOD, None, GOOD[:-1], GOOD], VALUE, AvroDeserializer(ById(registry)))
        assert [next(rows), next(rows)] == [ROW, None]
        with pytest.raises(TruncatedBodyError, match=r"^Row 2 of the batch: A value of topic 'orders', ") as caught:
            next(rows)
        assert vars(caught.value)["position"] == 2
        assert vars(caught.value)["schema_id"] == 1

    def test_an_id_that_was_refused_is_asked_for_once(self, registry: MemoryRegistry) -> None:
        payloads = [frame_id(99, b"x"), frame_id(98, b"x"), GOOD, frame_id(99, b"y"), frame_id(98, b""), GOOD] * 700
        rows = read(registry, payloads)
        assert rows[3] == (3, Reason.UNKNOWN_ID)
        assert rows[4199] == ROW
        assert rows[4198] == (4198, Reason.UNKNOWN_ID)
        assert registry.count("schema_by_id") == 3
        assert read(registry, payloads[:1]) == [(0, Reason.UNKNOWN_ID)], "the next batch asks again"
        assert registry.count("schema_by_id") == 4

    @pytest.mark.parametrize("kind", [bytearray, memoryview])
    def test_so_it_is_if_the_payloads_are_no_bytes_objects(
        self, registry: MemoryRegistry, kind: Callable[[bytes], Any]
    ) -> None:
        """Seen: `TypeError: unhashable type: 'bytearray'` from the first id that the registry did not know."""
        unknown = frame_id(9, b"")
        payloads = [kind(payload) for payload in (unknown, GOOD, unknown)]
        rows = list(deserialize_many(payloads, VALUE, AvroDeserializer(ById(registry)), on_error="quarantine"))
        assert [row.payload if isinstance(row, BadRow) else row for row in rows] == [unknown, ROW, unknown]
        assert {type(row.payload) for row in rows if isinstance(row, BadRow)} == {bytes}
        assert registry.count("schema_by_id") == 2

    def test_the_incident_is_named_and_asked_about_for_each_topic(self, registry: MemoryRegistry) -> None:
        deserializer = AvroDeserializer(UnderOneSubject(registry))
        contexts = [SerdeContext("phantom"), VALUE, SerdeContext("phantom"), SerdeContext("orders", Role.KEY)]
        rows = deserialize_many([GOOD] * 4, contexts, deserializer, on_error="quarantine")
        incident = Reason.NOT_UNDER_SUBJECT
        reasons = [row.reason if isinstance(row, BadRow) else None for row in rows]
        assert reasons == [incident, None, incident, incident]

    def test_of_two_guids_that_begin_alike_one_may_be_refused(self) -> None:
        refused, known = UUID(int=1), UUID(int=2)

        def answer(payload: bytes | None, ctx: Context) -> Value:
            frame = parse(payload)
            assert frame is not None
            if frame.guid == refused:
                raise ResolveError("no such schema")
            return {}

        payloads = [frame_guid(refused), frame_guid(known), frame_guid(refused, b"more")]
        rows = list(deserialize_many(payloads, VALUE, answer, on_error="quarantine"))
        assert [isinstance(row, BadRow) for row in rows] == [True, False, True]

    def test_headers_that_name_the_schema_are_asked_for_each_time(self) -> None:
        asked: list[Context] = []

        def answer(payload: bytes | None, ctx: Context) -> Value:
            asked.append(ctx)
            raise ResolveError("no such schema")

        contexts = [SerdeContext("orders", headers={"other": b"x"}) for _ in range(3)]
        assert len(list(deserialize_many([GOOD] * 3, contexts, answer, on_error="quarantine"))) == len(asked) == 3

    def test_as_many_contexts_as_payloads_or_one(self, registry: MemoryRegistry) -> None:
        with pytest.raises(UsageError, match=r"^There are 2 contexts for 3 rows\. Pass one for all of them, or one "):
            read(registry, [GOOD] * 3, [VALUE] * 2)

    @pytest.mark.parametrize("count", [999, 1000, 1001, 2500])
    def test_positions_go_on_from_one_thousand_to_the_next(self, registry: MemoryRegistry, count: int) -> None:
        rows = read(registry, [*[GOOD] * (count - 1), b""])
        assert rows == [*[ROW] * (count - 1), (count - 1, Reason.TOO_SHORT)]

    @given(st.lists(st.sampled_from([GOOD, None, b"", frame_id(99, b"")]) | st.binary(max_size=12), max_size=20))
    def test_it_gives_what_one_call_for_each_gives(self, payloads: list[bytes | None]) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-value", TEXT)
        one = AvroDeserializer(ById(registry), case_rule=CaseRule.EXACT)

        def alone(payload: bytes | None) -> Value | Reason | None:
            try:
                return one(payload, VALUE)
            except SrfixError as error:
                return error.row_reason

        rows = deserialize_many(payloads, VALUE, one, on_error="quarantine")
        assert [row.reason if isinstance(row, BadRow) else row for row in rows] == [alone(each) for each in payloads]


class TestErrorAt:
    @pytest.mark.parametrize("make", [lambda: ResolveError("what", schema_id=7), lambda: TruncatedBodyError("what")])
    def test_class_and_attributes_stay(self, make: Callable[[], SrfixError]) -> None:
        error = make()
        located = error_at(error, 12)
        assert type(located) is type(error)
        assert located.message == "Row 12 of the batch: what"
        assert vars(located) == vars(error) | {"position": 12}
        assert str(error) == "what"
