"""What a frame of `format("srfix")` has, by options and by the schema that the user gave."""

from __future__ import annotations

import json
from functools import partial
from typing import cast

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import ColumnError, UsageError, parse_columns
from srfix.serde.spark.source.frame import FieldKind, SourceFrame, frame_of, spark_json, with_columns
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import SourceOptions, source_options
from tests.serde.fakes import spark_struct
from tests.serde.spark.source.test_options import options as options_of

options = partial(options_of, Use.SCHEMA)


def schema(*fields: tuple[str, object]) -> dict[str, object]:
    return spark_struct(**dict(fields))


def names(frame: SourceFrame) -> list[str]:
    return [field.name for field in frame.fields]


REASON = ("_srfix_reason", "string")


class TestByOptions:
    def test_the_rows_columns_come_first_and_then_why_there_is_no_row(self) -> None:
        frame = frame_of(options(columns="ID BIGINT, NAME STRING"))
        assert names(frame) == ["ID", "NAME", "_srfix_reason"]
        assert frame.columns == parse_columns("ID BIGINT, NAME STRING")

    def test_in_quarantine_there_are_the_message_and_the_bytes_too(self) -> None:
        frame = frame_of(options(columns="ID BIGINT", on__error="quarantine", metadata="offset"))
        assert names(frame) == ["ID", "_srfix_reason", "_srfix_message", "_srfix_payload", "offset"]

    def test_metadata_has_the_types_of_sparks_kafka_source(self) -> None:
        document = json.loads(spark_json(frame_of(options(columns="ID BIGINT", metadata="all", metadata__prefix="_"))))
        types = {field["name"]: field["type"] for field in document["fields"]}
        assert types["_offset"] == "long"
        assert types["_timestampType"] == "integer"
        assert types["_headers"]["elementType"]["fields"][1]["type"] == "binary"
        assert all(field["nullable"] for field in document["fields"])

    def test_two_columns_of_one_name_are_refused_with_the_way_out(self) -> None:
        for columns in ("`offset` BIGINT", "OFFSET BIGINT"):
            with pytest.raises(UsageError, match=r"Two columns have the name 'offset' \(ignoring case"):
                frame_of(options(columns=columns, metadata="offset"))

    def test_what_spark_has_no_type_for_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"is TIME, but Spark has no such type"):
            spark_json(frame_of(options(columns="`T` TIME")))

    def test_raw_is_the_frame_of_sparks_kafka_source(self) -> None:
        raw = frame_of(options(format="raw", includeHeaders="true"))
        assert names(raw) == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
        assert raw.columns == ()
        types = {field["name"]: field["type"] for field in json.loads(spark_json(raw))["fields"]}
        assert (types["key"], types["partition"], types["offset"]) == ("binary", "integer", "long")
        assert types["headers"]["elementType"]["fields"][1]["type"] == "binary"


class TestByASchema:
    def test_the_schemas_fields_are_the_rows_columns(self) -> None:
        tags = {"type": "array", "elementType": "long", "containsNull": True}
        frame = frame_of(options(), schema(("Name", "string"), REASON, ("tags", tags)))
        assert frame.columns == parse_columns("`Name` STRING, `tags` ARRAY<BIGINT>")
        assert [field.kind for field in frame.fields] == [FieldKind.ROW, FieldKind.REASON, FieldKind.ROW]

    @pytest.mark.parametrize("format_", ["delimited", "protobuf_nosr", "protobuf"])
    def test_a_keys_single_column_stands_as_its_format_says(self, format_: str) -> None:
        assert frame_of(options(columns="A INT", role="key", format=format_)).wrap is True
        assert frame_of(options(columns="A INT", role="key", format="json")).wrap is False

    def test_it_prunes_the_columns_of_the_option_and_keeps_what_they_say_of_wrapping(self) -> None:
        frame = frame_of(options(columns="A INT, B STRING", role="key"), schema(("B", "string"), REASON))
        assert (names(frame), frame.columns, frame.wrap) == (["B", "_srfix_reason"], parse_columns("B STRING"), True)

    def test_metadata_is_what_the_option_says(self) -> None:
        frame = frame_of(options(metadata="offset"), schema(("offset", "long"), ("ID", "long"), REASON))
        assert [field.kind for field in frame.fields] == [FieldKind.METADATA, FieldKind.ROW, FieldKind.REASON]
        assert frame.columns == parse_columns("ID BIGINT")

    def test_without_that_a_name_that_may_be_either_is_refused(self) -> None:
        with pytest.raises(UsageError, match="The schema's field 'offset' may be the record's"):
            frame_of(options(), schema(("offset", "long"), REASON))
        frame = frame_of(options(metadata="none"), schema(("offset", "long"), REASON))
        assert frame.columns == parse_columns("`offset` BIGINT")

    def test_without_reasons_tombstones_would_be_rows_of_nulls(self) -> None:
        with pytest.raises(UsageError, match="The schema lacks the column _srfix_reason"):
            frame_of(options(), schema(("ID", "long")))
        assert names(frame_of(options(tombstones="drop"), schema(("ID", "long")))) == ["ID"]
        with pytest.raises(UsageError, match=r"^The schema lacks the column _srfix_reason STRING"):
            frame_of(options(tombstones="drop", on__error="null"), schema(("ID", "long")))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (
                schema(("ID", "short"), REASON),
                "column 'ID' is short, but rows do not have this type; they have integer",
            ),
            (
                json.loads(json.dumps(schema(("ID", "long"), REASON)).replace("true", "false")),
                "The schema's field 'ID' is NOT NULL",
            ),
            (schema(("ID", "long"), ("_srfix_reason", "long")), "'_srfix_reason' is long; it must be string"),
            (schema(REASON), r"^No column of the schema is left for the rows"),
        ],
    )
    def test_what_rows_do_not_have_is_refused(self, given: dict[str, object], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            frame_of(options(), given)
        with pytest.raises(UsageError, match="The option columns has no column 'ID' of the type"):
            frame_of(options(columns="ID INT"), schema(("ID", "long"), REASON))
        with pytest.raises(UsageError, match=r"The columns of the rows are not known\. Give"):
            frame_of(options())

    def test_raw_columns_are_chosen_by_name_and_type(self) -> None:
        frame = frame_of(options(format="raw"), schema(("offset", "long"), ("value", "binary")))
        assert names(frame) == ["offset", "value"]
        with pytest.raises(UsageError, match=r"The schema's field 'ID' \(long\) is not a column of"):
            frame_of(options(format="raw"), schema(("ID", "long")))

    def test_the_default_schema_read_back_is_the_default_frame(self) -> None:
        columns = "ID BIGINT, S STRUCT<A INT, B MAP<STRING, DATE>>"
        given = options(columns=columns, on__error="quarantine", metadata="key, offset")
        default = frame_of(given)
        assert names(frame_of(given, cast("dict[str, object]", json.loads(spark_json(default))))) == names(default)


class TestWithColumns:
    """Columns that nobody named are the newest schema's."""

    def given(self, registry: FixtureRegistry, **more: str) -> SourceOptions:
        least = {"bootstrap.servers": "b:9092", "subscribe": "users", "schema.registry.url": registry.url}
        return source_options(least | more, Use.SCHEMA)

    def test_they_are_in_its_own_letters_and_what_no_column_holds_is_left_out(self) -> None:
        time = '{"type":"int","logicalType":"time-millis"}'
        fields = f'{{"name":"userId","type":"long"}},{{"name":"at","type":{time}}},{{"name":"NAME","type":"string"}}'
        with FixtureRegistry() as registry:
            registry.seed("users-value", '{"type":"record","name":"U","fields":[{"name":"old","type":"int"}]}')
            registry.configure("users-value", {"compatibility": "NONE"})
            registry.seed("users-value", f'{{"type":"record","name":"U","fields":[{fields}]}}')
            found = with_columns(self.given(registry))
        assert found.columns == parse_columns("`userId` BIGINT, NAME STRING")
        names = [field["name"] for field in json.loads(spark_json(frame_of(found)))["fields"]]
        assert names == ["userId", "NAME", "_srfix_reason"]

    def test_columns_that_were_named_and_records_as_they_are_ask_nobody(self, registry: FixtureRegistry) -> None:
        for more in ({"columns": "ID long"}, {"format": "raw"}, {"format": "json"}):
            given = self.given(registry, **more)
            assert with_columns(given) is given
        assert registry.requests == ()

    def test_a_bare_value_is_asked_for_wrap(self) -> None:
        with FixtureRegistry() as registry:
            registry.seed("users-value", '"long"')
            with pytest.raises(UsageError, match=r'one column, ROWVAL\. Set \.option\("wrap", "false"\)\.$'):
                with_columns(self.given(registry))
            assert with_columns(self.given(registry, wrap="false")).columns == parse_columns("ROWVAL BIGINT")
