"""What a worker keeps of a plan, what it asks, and what it gives, without Spark."""

from __future__ import annotations

import datetime
import decimal
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import NoSubjectError, Reason, ResolveError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext, Serializer
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.resolve.policies import ById, DualSubject, UnderOneSubject
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.schemas.models import RegisteredSchema, Schema
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer, JsonSerializer
from srfix.serde.spark.read.plan import ReadPlan, plan_read
from srfix.serde.spark.worker.decode import (
    FallbackDecoder,
    PlanDecoder,
    RememberedRefusals,
    fallback_decoder,
    plan_decoder,
)
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import RecordSubject, TopicSubject
from srfix.serde.wire import Framing, frame_id
from tests.serde.fakes import MemoryRegistry

COLUMNS = parse_columns("ID BIGINT, NAME STRING")
USERS = SerdeContext("users")
ROW = {"ID": 7, "NAME": "Ada"}


def _payload(client: RegistryClient, topic: str = "users") -> bytes:
    payload = AvroSerializer(client, COLUMNS)(ROW, SerdeContext(topic))
    assert payload is not None
    return payload


def _rows(decoded: pa.Array) -> list[object]:
    rows: list[object] = [(each["row"], each["reason"]) for each in decoded.to_pylist()]
    return rows


def _travelled(plan: ReadPlan) -> PlanDecoder:
    """A worker's, which has nothing but the plan's bytes."""
    return PlanDecoder(pickle.loads(pickle.dumps(plan)))


class TestPlanDecoder:
    def test_a_row_is_null_where_there_is_a_reason_and_only_there(self, client: RegistryClient) -> None:
        payload = _payload(client)
        decode = _travelled(plan_read(client, "users", COLUMNS))
        payloads = [payload, None, b"", b"{}", payload[:-1], payload + b"\0", frame_id(77, b"\0")]
        decoded = decode(pa.array(payloads, pa.binary()))
        decoded.validate(full=True)
        assert decode(pa.array([], pa.large_binary())).type == decoded.type == decode.type
        reasons = ["TOMBSTONE", "TOO_SHORT", "BAD_MAGIC", "TRUNCATED", "TRAILING_BYTES", "UNKNOWN_ID"]
        assert _rows(decoded) == [(ROW, None), *((None, reason) for reason in reasons)]
        messages = decoded.field("message").to_pylist()
        assert messages[:2] == [None, None]
        assert all(messages[2:])

    def test_times_are_in_microseconds_as_spark_takes_them_however_deep(self, client: RegistryClient) -> None:
        columns = parse_columns("T TIMESTAMP, D DATE, P DECIMAL(6, 2), L ARRAY<STRUCT<M MAP<STRING, TIMESTAMP>>>")
        now = datetime.datetime(2026, 11, 21, 20, 0, 0, 123000, tzinfo=datetime.UTC)
        row = {"T": now, "D": now.date(), "P": decimal.Decimal("12.34"), "L": [{"M": {"a": now, "b": None}}]}
        payload = AvroSerializer(client, columns)(row, USERS)
        decoded = _travelled(plan_read(client, "users", columns))(pa.array([payload], pa.binary()))
        instant = pa.timestamp("us", tz="UTC")
        items = pa.struct([("M", pa.map_(pa.string(), instant))])
        assert decoded.type.field("row").type == pa.struct(
            [("T", instant), ("D", pa.date32()), ("P", pa.decimal128(6, 2)), ("L", pa.list_(items))]
        )
        (given,) = decoded.field("row").to_pylist()
        assert {**given, "L": [{"M": dict(given["L"][0]["M"])}]} == row

    def test_a_header_names_the_schema_where_headers_are_given(self) -> None:
        with FixtureRegistry(emulate="8.2") as registry, RegistryClient(registry.url) as client:
            context = SerdeContext("users", headers=[])
            body = AvroSerializer(client, COLUMNS, schema_id_framing=Framing.HEADER_GUID)(ROW, context)
            assert isinstance(context.headers, list)
            (name, value), *_ = context.headers
            decode = _travelled(plan_read(client, "users", COLUMNS))
            header, malformed = [{"key": name, "value": value}], [{"key": name, "value": b"\1"}]
            type_ = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
            headers = pa.array([header, [], None, malformed, header], type_)
            payloads = pa.array([body, _payload(client), None, body, None], pa.binary())
            whole, tombstone = (ROW, None), (None, "TOMBSTONE")
            assert _rows(decode(payloads, headers)) == [whole, whole, tombstone, (None, "BAD_FRAMING"), tombstone]
            nobody = pa.array([[], None], headers.type)
            assert _rows(decode(pa.array([_payload(client), None], pa.binary()), nobody)) == [whole, tombstone]

    @pytest.mark.parametrize("format_", [Format.JSON_SR, Format.JSON, None])
    def test_other_formats_give_the_same_rows(self, client: RegistryClient, format_: Format | None) -> None:
        serialize: Serializer = (
            JsonSerializer(COLUMNS) if format_ is Format.JSON else JsonSchemaSerializer(client, COLUMNS)
        )
        payload = serialize(ROW, USERS)
        decode = _travelled(plan_read(client, "users", COLUMNS, format=format_))
        assert _rows(decode(pa.array([payload, None], pa.binary()))) == [(ROW, None), (None, "TOMBSTONE")]

    def test_a_key_of_kafkas_own_serializers(self) -> None:
        decode = _travelled(plan_read(None, "users", "ID INT KEY", role=Role.KEY, format=Format.KAFKA))
        assert _rows(decode(pa.array([b"\0\0\0\7", b"\0"], pa.binary()))) == [({"ID": 7}, None), (None, "TRUNCATED")]


class TestWhatTheRegistryIsAsked:
    def test_once_for_an_id_that_the_plan_does_not_hold(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        decode = _travelled(plan_read(client, "users", COLUMNS))
        payload = _payload(client, "born-later")
        before = len(registry.requests)
        for _ in range(3):
            assert _rows(decode(pa.array([payload] * 1500, pa.binary()))) == [(ROW, None)] * 1500
            unknown = decode(pa.array([frame_id(77, b"\0")] * 1500, pa.binary()))
            assert _rows(unknown) == [(None, "UNKNOWN_ID")] * 1500
        assert [each.path for each in registry.requests[before:]] == ["/schemas/ids/1", "/schemas/ids/77"]

    def test_an_outage_is_no_bad_row_and_is_asked_about_again(self, registry: FixtureRegistry) -> None:
        with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
            decode = _travelled(plan_read(client, "users", COLUMNS))
            payload = _payload(client, "born-later")
        payloads = pa.array([payload, None], pa.binary())
        registry.close()
        for _ in range(2):
            with pytest.raises(RegistryUnreachableError):
                decode(payloads)

    @pytest.mark.parametrize("kind", ["UnderOneSubject", "DualSubject"])
    def test_a_policy_is_asked_for_its_subjects_too(
        self, registry: FixtureRegistry, client: RegistryClient, kind: str
    ) -> None:
        policy: UnderOneSubject | DualSubject = UnderOneSubject(client)
        if kind == "DualSubject":
            policy = DualSubject(client, first=TopicSubject(), second=lambda *_: "nobodys-value")  # type: ignore[arg-type]
        payload = _payload(client, "others")
        decode = PlanDecoder(plan_read(client, "users", COLUMNS, policy=policy))
        before = len(registry.requests)
        for _ in range(3):
            assert _rows(decode(pa.array([payload] * 5, pa.binary()))) == [(None, "NOT_UNDER_SUBJECT")] * 5
        asked = [each.path for each in registry.requests[before:]]
        assert len(asked) == len(set(asked)) <= 3


@pytest.mark.core
class TestRememberedRefusals:
    def test_a_refusal_is_believed_for_a_while_only(self) -> None:
        registry, now = MemoryRegistry(), [0.0]
        policy = RememberedRefusals(ById(registry), forget_after_s=30, clock=lambda: now[0])
        for now[0] in (0.0, 15.0, 29.9):
            with pytest.raises(ResolveError):
                policy.resolve(1, topic="users", role=Role.VALUE)
        assert len(registry.calls) == 1
        registry.seed("users-value", '"long"')
        with pytest.raises(ResolveError):
            policy.resolve(1, topic="users", role=Role.VALUE)
        now[0] = 30.0
        assert policy.resolve(1, topic="users", role=Role.VALUE).schema.text == '"long"'
        assert policy.resolve(1, topic="users", role=Role.VALUE).schema.text == '"long"'
        assert len(registry.calls) == 2

    def test_topics_and_roles_are_refused_apart(self) -> None:
        registry = MemoryRegistry()
        policy = RememberedRefusals(ById(registry), clock=lambda: 0.0)
        for topic, role in (("a", Role.KEY), ("a", Role.VALUE), ("b", Role.VALUE), ("a", Role.KEY)):
            with pytest.raises(ResolveError):
                policy.resolve(1, topic=topic, role=role)
        assert len(registry.calls) == 3

    def test_garbage_does_not_fill_the_memory(self) -> None:
        registry = MemoryRegistry()
        policy = RememberedRefusals(ById(registry), most=2, clock=lambda: 0.0)
        for schema_id in (1, 2, 3, 3, 1):
            with pytest.raises(ResolveError):
                policy.resolve(schema_id, topic="users", role=Role.VALUE)
        assert [call[1] for call in registry.calls] == ["1", "2", "3", "1"]

    def test_a_schema_that_makes_no_subject_is_refused_not_an_error_of_the_job(self, client: RegistryClient) -> None:
        policy = RememberedRefusals(UnderOneSubject(client, RecordSubject()))
        schema_id = client.register("numbers", Schema(text='"long"'))
        with pytest.raises(NoSubjectError) as caught:
            policy.resolve(schema_id, topic="users", role=Role.VALUE)
        assert caught.value.row_reason is Reason.NOT_UNDER_SUBJECT

    def test_a_client_that_cannot_be_used_on_a_worker_is_no_refusal(self) -> None:
        """A client certificate that is on the driver alone, say: told as bad rows, it would look like foreign schemas."""
        asked = []

        class NoCertificate(MemoryRegistry):
            def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
                asked.append(schema_id)
                raise UsageError("The client certificate for the registry cannot be used.")

        policy = RememberedRefusals(ById(NoCertificate()), clock=lambda: 0.0)
        for _ in range(2):
            with pytest.raises(UsageError) as caught:
                policy.resolve(1, topic="users", role=Role.VALUE)
            assert caught.value.row_reason is None
        assert asked == [1, 1]


class TestPlanDecoderOfAProcess:
    def test_a_plan_is_made_once(self, client: RegistryClient) -> None:
        pickled = pickle.dumps(plan_read(client, "users", COLUMNS))
        assert plan_decoder(pickled) is plan_decoder(bytes(bytearray(pickled)))
        assert fallback_decoder(pickled) is fallback_decoder(pickled)

    def test_it_imports_what_workers_have(self, client: RegistryClient) -> None:
        payload, plan = _payload(client), pickle.dumps(plan_read(client, "users", COLUMNS))
        script = (
            "import sys, pyarrow as pa\n"
            "from srfix.serde.spark.worker.decode import plan_decoder\n"
            f"decoded = plan_decoder({plan!r})(pa.array([{payload!r}]))\n"
            "print(decoded.field('row').to_pylist(), *sorted({name.partition('.')[0] for name in sys.modules}))\n"
        )
        told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        assert told.startswith(f"[{ROW!r}] ")
        absent = {"pyspark", "confluent_kafka", "click", "rich", "avro", "msgspec", "orjson"}
        assert absent & set(told.split()) == set()


class _Counted(PlanDecoder):
    """Counts the payloads that it is given."""

    asked = 0

    def __call__(self, payloads: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        self.asked += len(payloads)
        return super().__call__(payloads, headers)


class TestFallback:
    """What another engine leaves."""

    def test_a_batch_of_nulls_is_not_looked_at(self, client: RegistryClient) -> None:
        decode = _Counted(plan_read(client, "users", COLUMNS))
        fallback = FallbackDecoder(decode)
        for size in (10_000, 0, 7, 10_000, 20_000):
            decoded = fallback(pa.nulls(size, pa.binary()))
            assert (len(decoded), decoded.null_count, decoded.type) == (size, size, pa.list_(decode.type))
            assert decoded.flatten().nbytes == 0
        assert decode.asked == 0

    @pytest.mark.parametrize("given", [(0,), (4,), (0, 2, 4), (1, 3), tuple(range(5))])
    def test_the_others_are_decoded_and_stay_in_their_places(
        self, client: RegistryClient, given: tuple[int, ...]
    ) -> None:
        payload = _payload(client)
        plan = plan_read(client, "users", COLUMNS)
        decode = _Counted(plan)
        whole = [b"{}" if number == 2 else payload for number in range(5)]
        payloads = [one if number in given else None for number, one in enumerate(whole)]
        decoded = FallbackDecoder(decode)(pa.array(payloads, pa.binary()))
        wanted = PlanDecoder(plan)(pa.array(whole, pa.binary())).to_pylist()
        assert decoded.to_pylist() == [[one] if number in given else None for number, one in enumerate(wanted)]
        assert (decode.asked, decoded.type) == (len(given), pa.list_(decode.type))
