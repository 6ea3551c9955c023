"""A row of which no column is fed is no row: another record type in the topic, or a column that is misspelt.

| the writer has | it gives |
|---|---|
| a field for a column, whatever it holds | a row |
| fields, and none of them for a column | NOTHING_FED; a row of nulls by ksqlDB's case rules, as in the engine |
| fields for some of the columns | a row; under `strict` COLUMN_NOT_FED |
| a null instead of a record | no row: a tombstone |
"""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.arrow.decode import ValueWise, to_arrow
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer, JsonSchemaDeserializer
from srfix.serde.errors import (
    ColumnError,
    ColumnNotFedError,
    NothingFedError,
    UsageError,
)
from srfix.serde.interface import BadRow, SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.spark.read.plan import plan_read
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import body, record
from tests.serde.fakes import MemoryRegistry, framed

USERS = SerdeContext("users")
COLUMNS = "ID BIGINT, NAME STRING"
RULES = list(CaseRule)
OURS = [CaseRule.UNIQUE, CaseRule.EXACT]
KSQLDB = [CaseRule.KSQLDB, CaseRule.KSQLDB_2020]


USER = record("User", ID=["null", "long"], NAME=["null", "string"])
ORDER = record("Order", order=["null", "long"], total=["null", "double"])


def avro(columns: str, registry: MemoryRegistry, **options: object) -> AvroDeserializer:
    return AvroDeserializer(ById(registry), columns=parse_columns(columns), **options)  # type: ignore[arg-type]


class TestAvro:
    @pytest.mark.parametrize("rule", OURS)
    def test_a_record_of_another_type_is_no_row(self, rule: CaseRule) -> None:
        registry = MemoryRegistry()
        read = avro(COLUMNS, registry, case_rule=rule)
        with pytest.raises(NothingFedError, match="columns 'ID', 'NAME': it has 'order', 'total'") as caught:
            read(framed(registry, ORDER, {"order": 1, "total": 2.5}), USERS)
        assert caught.value.columns == ("ID", "NAME")

    @pytest.mark.parametrize("rule", KSQLDB)
    def test_it_is_a_row_of_nulls_to_ksqldb(self, rule: CaseRule) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, ORDER, {"order": 1, "total": 2.5})
        read = avro(COLUMNS, registry, case_rule=rule)
        assert read(payload, USERS) == {"ID": None, "NAME": None}
        for engine in (None, ValueWise):
            batch = to_arrow([payload], USERS, read, on_error="quarantine", engine=engine)
            assert batch.select(["ID", "NAME", "_srfix_reason"]).to_pylist() == [
                {"ID": None, "NAME": None, "_srfix_reason": None}
            ]
        with pytest.raises(NothingFedError):
            avro(COLUMNS, registry, case_rule=rule, strict=True)(payload, USERS)

    def test_names_that_differ_in_letter_case_alone_are_said_to(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, record("User", id=["null", "long"]), {"id": 7})
        read = AvroDeserializer(ById(registry), columns="ID BIGINT", case_rule=CaseRule.EXACT)
        with pytest.raises(NothingFedError, match="The names differ only in letter case, which this case rule"):
            read(payload, USERS)

    @pytest.mark.parametrize("rule", RULES)
    def test_a_row_whose_fields_hold_null_is_a_row(self, rule: CaseRule) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, USER, {"ID": None, "NAME": None})
        assert avro(COLUMNS, registry, case_rule=rule)(payload, USERS) == {"ID": None, "NAME": None}
        assert avro("NAME STRING, X INT", registry, case_rule=rule)(payload, USERS) == {"NAME": None, "X": None}

    def test_a_null_beside_it_is_a_tombstone(self) -> None:
        registry = MemoryRegistry()
        schema = ["null", ORDER]
        read = avro(COLUMNS, registry)
        assert read(framed(registry, schema, None), USERS) is None
        with pytest.raises(NothingFedError):
            read(framed(registry, schema, {"order": 1, "total": None}), USERS)

    def test_the_branches_of_a_union_are_fields_too(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, ["null", USER, ORDER], {"order": 1, "total": None})
        assert avro("`User` STRUCT<ID BIGINT>", registry)(payload, USERS) == {"User": None}
        with pytest.raises(NothingFedError, match="The union feeds none of the columns 'Usr': it"):
            avro("`Usr` STRUCT<ID BIGINT>", registry)(payload, USERS)


class TestStrict:
    def test_every_column_and_what_is_inside_must_be_fed(self) -> None:
        registry = MemoryRegistry()
        inner = record("A", CITY="string")
        payload = framed(
            registry,
            record(ID="long", A=inner, L={"type": "array", "items": "A"}),
            {"ID": 1, "A": {"CITY": "Ulm"}, "L": []},
        )
        assert avro("ID BIGINT, A STRUCT<CITY STRING>", registry, strict=True)(payload, USERS) is not None
        for columns, path in (
            ("ID BIGINT, X INT", "X"),
            ("ID BIGINT, A STRUCT<CITY STRING, STREET STRING>", "A->STREET"),
            ("ID BIGINT, L ARRAY<STRUCT<ZIP STRING>>", "L->ARRAY->ZIP"),
        ):
            assert avro(columns, registry)(payload, USERS) is not None
            with pytest.raises(ColumnNotFedError, match="strict requires that every column is fed") as caught:
                avro(columns, registry, strict=True)(payload, USERS)
            assert (type(caught.value), caught.value.columns) == (ColumnNotFedError, (path,))

    def test_it_travels(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, USER, {"ID": 1, "NAME": None})
        read = pickle.loads(pickle.dumps(avro("ID BIGINT, X INT", registry, strict=True)))
        with pytest.raises(ColumnNotFedError):
            read(payload, USERS)
        of_json = pickle.loads(pickle.dumps(JsonDeserializer(parse_columns("ID BIGINT, X INT"), strict=True)))
        with pytest.raises(ColumnNotFedError):
            of_json(b'{"ID":1}', USERS)


class TestJson:
    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("text", ['{"order":1,"total":2.5}', "{}"])
    def test_a_document_without_any_key_is_no_row_but_to_ksqldb(self, rule: CaseRule, text: str) -> None:
        columns = parse_columns(COLUMNS)
        if rule in KSQLDB:
            assert JsonDeserializer(columns, case_rule=rule)(text.encode(), USERS) == {"ID": None, "NAME": None}
        with pytest.raises(NothingFedError, match=r"feeds none of the columns 'ID', 'NAME'"):
            JsonDeserializer(columns, case_rule=rule, strict=rule in KSQLDB)(text.encode(), USERS)

    def test_a_key_with_a_null_feeds_its_column(self) -> None:
        read = JsonDeserializer(parse_columns(COLUMNS))
        assert read(b'{"id":null}', USERS) == {"ID": None, "NAME": None}
        assert read(b"null", USERS) is None

    def test_strict_goes_inside(self) -> None:
        read = JsonDeserializer(parse_columns("A STRUCT<B INT, C INT>, D ARRAY<STRUCT<E INT>>"), strict=True)
        assert read(b'{"A":{"B":1,"C":null},"D":[]}', USERS) == {"A": {"B": 1, "C": None}, "D": []}
        for text in (b'{"A":{"B":1,"C":null}}', b'{"A":{"B":1},"D":[]}', b'{"A":{"B":1,"C":2},"D":[{}]}'):
            with pytest.raises(ColumnNotFedError) as caught:
                read(text, USERS)
            assert type(caught.value) is ColumnNotFedError


class TestJsonSchema:
    OWN = '{"type":"object","properties":{"ID":{"type":"integer"},"A":{"type":"object","properties":{"B":{"type":"string"}}}}}'
    OTHER = '{"type":"object","properties":{"order":{"type":"integer"}}}'

    def _read(self, text: str, document: bytes, columns: str, rule: CaseRule, *, strict: bool = False) -> object:
        registry = MemoryRegistry()
        schema_id = registry.seed("users-value", text, schema_type="JSON")
        read = JsonSchemaDeserializer(ById(registry), columns=parse_columns(columns), case_rule=rule, strict=strict)
        return read(frame_id(schema_id, document), USERS)

    @pytest.mark.parametrize("rule", RULES)
    def test_the_schema_tells(self, rule: CaseRule) -> None:
        assert self._read(self.OWN, b"{}", "ID BIGINT", rule) == {"ID": None}
        if rule in KSQLDB:
            assert self._read(self.OTHER, b'{"order":1}', "ID BIGINT", rule) == {"ID": None}
        with pytest.raises(NothingFedError):
            self._read(self.OTHER, b'{"order":1}', "ID BIGINT", rule, strict=rule in KSQLDB)


class TestBatches:
    @given(st.lists(st.sampled_from(["user", "null user", "order", "tombstone"]), max_size=12))
    def test_two_record_types_in_one_topic(self, kinds: list[str]) -> None:
        """By rows, by Arrow in both ways, and in Spark's workers."""
        registry = MemoryRegistry()
        sent = {
            "user": framed(registry, USER, {"ID": 7, "NAME": "Ada"}),
            "null user": framed(registry, USER, {"ID": None, "NAME": None}),
            "order": framed(registry, ORDER, {"order": 7, "total": None}),
            "tombstone": None,
        }
        words = {"user": None, "null user": None, "order": "NOTHING_FED", "tombstone": "TOMBSTONE"}
        payloads = [sent[kind] for kind in kinds]
        read = avro(COLUMNS, registry)
        rows = list(deserialize_many(payloads, USERS, read, on_error="quarantine"))
        assert [
            row.reason.value if isinstance(row, BadRow) else words[kind] for row, kind in zip(rows, kinds, strict=True)
        ] == [words[kind] for kind in kinds]
        for engine in (None, ValueWise):
            batch = to_arrow(payloads, USERS, read, on_error="quarantine", engine=engine)
            assert batch.column("_srfix_reason").to_pylist() == [words[kind] for kind in kinds]
            assert batch.column("ID").to_pylist() == [7 if kind == "user" else None for kind in kinds]


class TestPlans:
    def _seed(self, registry: FixtureRegistry) -> None:
        registry.seed("users-value", json.dumps(USER))
        registry.seed("orders-value", json.dumps(ORDER))

    def test_a_column_that_no_version_feeds_is_an_error(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        self._seed(registry)
        with pytest.raises(ColumnError, match=r"feeds the column NMAE: .* Did you mean 'NAME' for NMAE\?"):
            plan_read(client, "users", "ID BIGINT, NMAE STRING")
        plan = plan_read(client, "users", "ID BIGINT, NMAE STRING", missing_columns="null")
        assert [planned.problem for planned in plan.schemas] == [None]

    def test_one_version_is_enough(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        self._seed(registry)
        registry.seed("users-value", json.dumps(record("User", ID=["null", "long"], MAIL=["null", "string"])))
        plan = plan_read(client, "users", "ID BIGINT, NAME STRING, MAIL STRING")
        assert [planned.problem for planned in plan.schemas] == [None, None]
        strict = plan_read(client, "users", "ID BIGINT, NAME STRING, MAIL STRING", strict=True)
        assert [type(planned.problem) for planned in strict.schemas] == [ColumnNotFedError, ColumnNotFedError]
        assert "COLUMN_NOT_FED" in strict.explain()

    def test_what_they_cannot_mean(self, client: RegistryClient) -> None:
        with pytest.raises(UsageError, match="strict=True requires every column"):
            plan_read(client, "users", COLUMNS, strict=True, missing_columns="null")
        with pytest.raises(UsageError, match="missing_columns is 'ignore'; it must be one of 'error', 'null'"):
            plan_read(client, "users", COLUMNS, missing_columns="ignore")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("rule", "strict"), [(CaseRule.UNIQUE, False), (CaseRule.UNIQUE, True), (CaseRule.KSQLDB, False)]
    )
    def test_the_jvm_engine_has_the_verdict_of_the_workers(
        self, registry: FixtureRegistry, client: RegistryClient, *, rule: CaseRule, strict: bool
    ) -> None:
        self._seed(registry)
        columns = "ID BIGINT, NAME STRING" if strict else "ID BIGINT"
        registry.seed("users-value", json.dumps(record("User", ID=["null", "long"])))
        plan = plan_read(client, "users", columns, subjects=["orders-value"], strict=strict, case_rule=rule)
        verdicts = {int(one): verdict.reason for verdict in jvm_read(plan).verdicts for one in verdict.schema_ids}
        payloads = {
            1: body(USER, {"ID": None, "NAME": None}),
            2: body(ORDER, {"order": 1, "total": None}),
            3: body(record("User", ID=["null", "long"]), {"ID": None}),
        }
        decode = PlanDecoder(pickle.loads(pickle.dumps(plan)))
        decoded = decode(pa.array([frame_id(number, each) for number, each in payloads.items()]))
        nothing_fed = "NOTHING_FED" if rule is CaseRule.UNIQUE else None
        expected = [None, nothing_fed, "COLUMN_NOT_FED" if strict else None]
        assert decoded.field("reason").to_pylist() == expected
        assert [verdicts[number].value if number in verdicts else None for number in payloads] == expected
