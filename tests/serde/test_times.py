"""DATE, TIME and TIMESTAMP beyond the years 1 to 9999: the error says which, and `times="integers"` reads and writes them as
the integers that stand in the record, in every format, as dicts, as Arrow and in the drop-in."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    ById,
    DecodeError,
    EncodeError,
    FixedSubject,
    JsonDeserializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    JsonSerializer,
    OutOfRangeError,
    RegistryClient,
    SchemaDeserializer,
    SerdeContext,
    UsageError,
    confluent,
    deserialize_many,
)
from srfix.serde.arrow import from_arrow, to_arrow
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.times import Times, with_times
from srfix.serde.errors import ColumnError
from srfix.serde.spark import plan_read, plan_write
from tests.serde.avro_schemas import logical, record

COLUMNS: Final = "D DATE, T TIME, A TIMESTAMP, L ARRAY<TIMESTAMP>, M MAP<STRING, DATE>, S STRUCT<D DATE>"
MICROSECONDS_AS_MILLISECONDS: Final = 1_700_000_000_000_000
ROW: Final[dict[str, object]] = {
    "D": 3_000_000,
    "T": -5,
    "A": MICROSECONDS_AS_MILLISECONDS,
    "L": [1, None, -MICROSECONDS_AS_MILLISECONDS],
    "M": {"x": -800_000},
    "S": {"D": 1},
}
NOTHING: Final = dict.fromkeys(ROW)
_CONTEXT: Final = SerdeContext("t")

MakeSerializer = Callable[[RegistryClient, Times], Any]
SERIALIZERS: Final[dict[str, tuple[MakeSerializer, MakeSerializer]]] = {
    "Avro": (
        lambda client, times: AvroSerializer(client, COLUMNS, times=times),
        lambda client, times: AvroDeserializer(ById(client), columns=COLUMNS, times=times),
    ),
    "either": (
        lambda client, times: AvroSerializer(client, COLUMNS, times=times),
        lambda client, times: SchemaDeserializer(ById(client), columns=COLUMNS, times=times),
    ),
    "JSON_SR": (
        lambda client, times: JsonSchemaSerializer(client, COLUMNS, times=times, subjects=FixedSubject(value="t-json")),
        lambda client, times: JsonSchemaDeserializer(ById(client), columns=COLUMNS, times=times),
    ),
    "JSON": (
        lambda _, times: JsonSerializer(COLUMNS, times=times),
        lambda _, times: JsonDeserializer(COLUMNS, times=times),
    ),
}
FAR: Final = [
    ({"D": 3_000_000}, "3000000", "D", "DATE"),
    ({"D": -800_000}, "-800000", "D", "DATE"),
    ({"T": -5}, "-5", "T", "TIME"),
    ({"A": MICROSECONDS_AS_MILLISECONDS}, "1700000000000000", "A", "TIMESTAMP"),
    ({"A": -MICROSECONDS_AS_MILLISECONDS}, "-1700000000000000", "A", "TIMESTAMP"),
    ({"L": [0, MICROSECONDS_AS_MILLISECONDS]}, "1700000000000000", "L", "TIMESTAMP"),
    ({"S": {"D": 3_000_000}}, "3000000", "S", "DATE"),
]
ANY_TIMES: Final = {
    "time-micros": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "date": "int",
    "time-millis": "int",
    "timestamp-millis": "long",
}


class TestTheError:
    @pytest.mark.parametrize("format_", SERIALIZERS)
    @pytest.mark.parametrize(("row", "value", "column", "type_"), FAR)
    def test_it_names_path_value_type_and_the_way_out(
        self, client: RegistryClient, format_: str, row: dict[str, object], value: str, column: str, type_: str
    ) -> None:
        write, read = SERIALIZERS[format_]
        payload = write(client, "integers")(row, _CONTEXT)
        for attempt in (
            lambda: read(client, "datetimes")(payload, _CONTEXT),
            lambda: list(deserialize_many([payload], _CONTEXT, read(client, "datetimes"))),
            lambda: to_arrow([payload], _CONTEXT, read(client, "datetimes")),
        ):
            with pytest.raises(DecodeError) as caught:
                attempt()
            message = caught.value.message
            assert value in message
            assert type_ in message
            assert f"at {column}" in message or f"$.{column}" in message
            assert "times='integers'" in message

    @pytest.mark.parametrize(("row", "value", "column", "type_"), FAR)
    def test_it_does_without_columns_and_in_the_drop_in(
        self, client: RegistryClient, row: dict[str, object], value: str, column: str, type_: str
    ) -> None:
        serializer = AvroSerializer(client, COLUMNS, times="integers")
        payload, text = serializer(row, _CONTEXT), serializer.schema.text
        for read in (
            AvroDeserializer(ById(client)),
            confluent.AvroDeserializer(client),
            # fastavro alone, as in confluent-kafka: it makes another time of one that is negative.
            *(() if type_ == "TIME" else (confluent.AvroDeserializer(client, text),)),
            *(() if type_ == "TIME" else (confluent.AvroDeserializer(client, return_record_name=True),)),
        ):
            with pytest.raises(OutOfRangeError) as caught:
                read(payload, _CONTEXT)
            message = caught.value.message
            assert f"The value {value} at {column}" in message
            assert type_ in message
            assert "times='integers', conf={'times': 'integers'} in srfix.serde.confluent" in message


class TestIntegers:
    @pytest.mark.parametrize("format_", SERIALIZERS)
    def test_rows_and_arrow_hold_what_stands_in_the_record(self, client: RegistryClient, format_: str) -> None:
        write, read = SERIALIZERS[format_]
        serialize, deserialize = write(client, "integers"), read(client, "integers")
        payload = serialize(ROW, _CONTEXT)
        assert deserialize(payload, _CONTEXT) == ROW
        again_write, again_read = pickle.loads(pickle.dumps((serialize, deserialize)))
        assert again_read(again_write(ROW, _CONTEXT), _CONTEXT) == ROW
        assert list(deserialize_many([payload, None], _CONTEXT, deserialize)) == [ROW, None]
        batch = to_arrow([payload], _CONTEXT, deserialize)
        assert [batch.schema.field(name).type for name in "DTA"] == [pa.int32(), pa.int64(), pa.int64()]
        assert {**batch.to_pylist()[0], "M": dict(batch.to_pylist()[0]["M"])} == ROW
        assert from_arrow(batch, serialize, _CONTEXT).to_pylist() == [payload]
        assert deserialize.columns == with_times(parse_columns(COLUMNS), "integers")

    @pytest.mark.parametrize("format_", SERIALIZERS)
    def test_all_values_are_integers_those_that_a_datetime_holds_too(
        self, client: RegistryClient, format_: str
    ) -> None:
        write, read = SERIALIZERS[format_]
        at = datetime.datetime(2020, 6, 16, tzinfo=datetime.UTC)
        payload = write(client, "datetimes")({"D": at.date(), "T": datetime.time(0, 0, 1), "A": at}, _CONTEXT)
        expected = NOTHING | {"D": 18_429, "T": 1_000, "A": 1_592_265_600_000}
        assert read(client, "integers")(payload, _CONTEXT) == expected
        with pytest.raises(EncodeError, match=r"D needs an integer .*, got date"):
            write(client, "integers")({"D": at.date()}, _CONTEXT)

    @pytest.mark.parametrize("format_", SERIALIZERS)
    def test_another_word_is_refused(self, client: RegistryClient, format_: str) -> None:
        for make in SERIALIZERS[format_]:
            with pytest.raises(
                UsageError, match=r"^times is 'numbers'; it must be one of 'datetimes', 'integers'(, 'micros')?\.$"
            ):
                make(client, "numbers")  # type: ignore[arg-type]
        with pytest.raises(
            UsageError, match=r"^times is of the type int; it must be one of 'datetimes', 'integers'\.$"
        ):
            confluent.AvroDeserializer(client, conf={"times": 1})

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
    @given(
        st.fixed_dictionaries(
            {
                name: st.integers(-(2**31), 2**31 - 1) if kind == "int" else st.integers(-(2**63), 2**63 - 1)
                for name, kind in ANY_TIMES.items()
            }
        )
    )
    def test_any_integer_comes_back_whatever_the_unit(self, client: RegistryClient, row: dict[str, int]) -> None:
        row = {name.replace("-", "_").upper(): value for name, value in row.items()}
        schema = json.dumps(
            record(**{name.replace("-", "_").upper(): logical(kind, name) for name, kind in ANY_TIMES.items()})
        )
        context = SerdeContext("units")
        payload = AvroSerializer.for_schema(client, schema, times="integers")(row, context)
        columns = (
            "TIME_MICROS TIME, TIMESTAMP_MICROS TIMESTAMP, TIMESTAMP_NANOS TIMESTAMP, LOCAL_TIMESTAMP_MILLIS TIMESTAMP_NTZ, "
            "LOCAL_TIMESTAMP_MICROS TIMESTAMP_NTZ, DATE DATE, TIME_MILLIS TIME, TIMESTAMP_MILLIS TIMESTAMP"
        )
        for read in (
            AvroDeserializer(ById(client), times="integers"),
            AvroDeserializer(ById(client), columns=columns, times="integers"),
            confluent.AvroDeserializer(client, conf={"times": "integers"}),
            confluent.AvroDeserializer(client, schema, conf={"times": "integers"}),
        ):
            assert read(payload, context) == row
        conf = {"times": "integers", "auto.register.schemas": False}
        assert confluent.AvroSerializer(client, schema, conf=conf)(row, context) == payload


class TestPlans:
    def test_a_plan_has_the_integers_types(self, client: RegistryClient) -> None:
        context = SerdeContext("planned")
        payload = AvroSerializer(client, COLUMNS, times="integers")(ROW, context)
        plan = plan_read(client, "planned", COLUMNS, times="integers")
        assert plan.columns == with_times(parse_columns(COLUMNS), "integers")
        types = {field["name"]: field["type"] for field in json.loads(plan.spark_schema())["fields"]}
        assert [types[name] for name in "DTA"] == ["integer", "long", "long"]
        assert plan.deserializer()(payload, context) == ROW
        for words in (plan.explain(), plan.explain(extended=True)):
            assert "times as the integers in the record" in " ".join(words.split())
        assert "given as the integers to write" in plan_write(client, "planned", COLUMNS, times="integers").explain()
        assert plan != plan_read(client, "planned", "D DATE, A TIMESTAMP")

    def test_a_column_is_never_fed_in_several_units(self, client: RegistryClient) -> None:
        for unit in ("timestamp-millis", "timestamp-micros"):
            text = json.dumps(record(A=logical("long", unit)))
            write = AvroSerializer.for_schema(client, text, subjects=FixedSubject(value=f"two-{unit}"))
            write({"A": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)}, SerdeContext("two"))
        subjects = ["two-timestamp-millis", "two-timestamp-micros"]
        plan_read(client, "two", "A TIMESTAMP", subjects=subjects)
        with pytest.raises(ColumnError, match="would hold numbers with different units"):
            plan_read(client, "two", "A TIMESTAMP", subjects=subjects, times="integers")
