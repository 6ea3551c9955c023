"""Schema texts that somebody broke: a reader refuses them, as it refuses payloads."""

from __future__ import annotations

from random import Random
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import ById, SchemaDeserializer, SerdeContext, parse_columns
from srfix.serde.formats import avro, json_schema
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.table import format_of, schema_module_of
from srfix.serde.specs import WriteSpec
from srfix.serde.wire import frame_id
from tests.serde.confluent.strategies import avro_cases, json_cases
from tests.serde.formats.protobuf.strategies import schema_cases
from tests.serde.fuzz.frames import GuidRegistry
from tests.serde.fuzz.harness import PAYLOADS, PER_CASE, Fuzz, fuzzed, seeds
from tests.serde.fuzz.mutations import JSON, mutated
from tests.serde.fuzz.strategies import RowsCase, rows_cases

TEXTS: Final = PAYLOADS // 4

_texts: st.SearchStrategy[tuple[str, str]] = st.one_of(
    avro_cases().map(lambda case: ("AVRO", case.text)),
    json_cases().map(lambda case: ("JSON", case.text)),
    rows_cases().map(lambda case: ("AVRO", avro.internal_schema(WriteSpec(columns=case.writer)))),
    rows_cases().map(lambda case: ("JSON", json_schema.internal_schema(WriteSpec(columns=case.writer)))),
)
_protobuf_texts: st.SearchStrategy[tuple[str, str]] = st.one_of(
    schema_cases().map(lambda case: case.text),
    st.sampled_from(("optional", "wrapper")).map(
        lambda nullable: protobuf.internal_schema(
            WriteSpec(
                columns=parse_columns("A INT, B DECIMAL(4, 2), C MAP<STRING, DATE>, D ARRAY<STRUCT<X TIME, Y STRING>>"),
                nullable_representation=nullable,  # type: ignore[arg-type]
            )
        )
    ),
).map(lambda text: ("PROTOBUF", text))


class TestBrokenSchemas:
    def test_a_broken_schema_is_read_under_or_refused(self) -> None:
        _read_all(_texts, TEXTS)

    def test_so_is_one_of_protobuf(self) -> None:
        """A tenth of them: protoc reads each from a file."""
        _read_all(_protobuf_texts, TEXTS // 10)


def _read_all(texts: st.SearchStrategy[tuple[str, str]], count: int) -> None:
    fuzz = Fuzz()

    @fuzzed(count)
    @given(texts, rows_cases(), st.booleans(), st.binary(max_size=12) | st.just(b'{"A":1}'), seeds)
    def run(typed: tuple[str, str], case: RowsCase, has_columns: bool, body: bytes, random: Random) -> None:
        kind, text = typed
        for _ in range(PER_CASE):
            broken = mutated(random, text.encode(), JSON).decode("utf-8", "replace")
            registry = GuidRegistry()
            payload = frame_id(registry.put(broken, kind), body)
            columns = case.reader if has_columns else None
            deserialize = SchemaDeserializer(ById(registry), columns=columns)
            fuzz.read(
                lambda: deserialize(payload, SerdeContext("t")),  # noqa: B023
                about=lambda: f"{body!r} under {broken[:2000]!r}",  # noqa: B023
            )
            infer = schema_module_of(format_of(kind)).infer_columns
            fuzz.read(lambda: infer(broken), about=lambda: f"columns of {broken[:2000]!r}")  # noqa: B023

    run()
    fuzz.check_count(2 * count)
