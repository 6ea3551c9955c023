"""Reads and writes Avro bodies like confluent-kafka, with fastavro, and with checks that fastavro lacks: a body's end,
its memory and stack, the fields that do not fit. A root of `bytes` has no length before them, as in Java's
`AbstractKafkaAvroSerializer`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache, cached_property, partial
from io import BytesIO
from typing import Any, Final, TypeAlias, cast

import fastavro
from fastavro.repository.base import AbstractSchemaRepository, SchemaRepositoryError
from fastavro.schema import load_schema
from fastavro.validation import ValidationError, validate
from fastavro.write import LOGICAL_WRITERS

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.times import Times
from srfix.serde.confluent.config import SerdeSettings
from srfix.serde.confluent.serde import References
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, SchemaError
from srfix.serde.formats import avro
from srfix.serde.formats.avro import Analysis, AvroNode, ParsedSchema, every_node, fastavro_decoder, has_decimals, load
from srfix.serde.formats.avro.engine import far_time_check
from srfix.serde.formats.avro.read.body_walk import check_body, guard_of
from srfix.serde.formats.avro.read.costs import CONTAINER, Costs, text_cost
from srfix.serde.formats.avro.write.kernel import native_fastavro_encoder
from srfix.serde.formats.rows.value_check import MISSING, nests_deeper
from srfix.serde.formats.table import Format
from srfix.serde.java_ints import INT_MAX, INT_MIN
from srfix.serde.printable import shortened
from srfix.serde.serdes.plans import decode_plan, usable_reader
from srfix.serde.specs import ReaderSchema, ReadSpec

_Parsed: TypeAlias = "str | list[object] | dict[object, object]"


def prepared_text(text: str) -> str:
    """The text that confluent-kafka sends: stripped, and a bare `"string"` as `{"type":"string"}`."""
    stripped = text.strip()
    if not stripped:
        raise SchemaError("The schema text is empty. Pass an Avro schema, such as '\"string\"'.")
    return stripped if stripped[0] in "{[" else f'{{"type":{stripped}}}'


class AvroSchema:
    message_indexes = None

    def __init__(
        self, text: str, references: References, settings: SerdeSettings, *, return_record_name: bool = False
    ) -> None:
        """With `return_record_name`, records in unions of records are read as (name, record)."""
        self._strict, self._strict_allow_default = settings.strict, settings.strict_allow_default
        self._return_record_name = return_record_name
        self.text = prepared_text(text)
        self._references = tuple(dict.fromkeys(referred for _, referred in references))
        self._times = settings.times
        self._graph = load(self.text, self._references)
        self._parsed = _parse(self.text, references)
        if settings.times == "integers":
            self._parsed = cast("_Parsed", _without_times(self._parsed))

    @property
    def record_name(self) -> str | None:
        """The schema's record name in confluent-kafka's deserializers; None for unions and for types without a name."""
        name = self._parsed.get("name") if isinstance(self._parsed, dict) else None
        return name if isinstance(name, str) else None

    @property
    def written_name(self) -> str | None:
        """The schema's record name in confluent-kafka's serializers; a type such as `string` is also a name."""
        if self.record_name is not None or not isinstance(self._parsed, dict):
            return self.record_name
        kind = json.loads(self.text).get("type")
        return kind if isinstance(kind, str) else None

    @cached_property
    def _is_bytes(self) -> bool:
        return self._parsed == "bytes" or (isinstance(self._parsed, dict) and self._parsed.get("type") == "bytes")

    def encoder(self) -> Encode:
        """Writes like fastavro: a missing field gets its default; unless strict, a surplus one is left out."""
        if self._is_bytes:
            return _write_bytes
        write = fastavro.schemaless_writer
        parsed = cast("dict[object, object]", _with_bounded_ints(self._parsed))
        is_recursive, levels = Analysis(self._graph).is_recursive, payload_bounds().levels
        strict, allow_default = self._strict, self._strict_allow_default

        def encode(value: object, prefix: bytes) -> bytes:
            # fastavro's compiled writer recurses on the C stack and does not check it.
            if is_recursive and nests_deeper(value, levels - 1):
                raise EncodeError(f"The value nests deeper than {levels} levels.")
            out = BytesIO()
            out.write(prefix)
            try:
                write(out, parsed, value, strict=strict, strict_allow_default=allow_default)
            except Exception as error:
                raise self._misfit(value, error) from error
            return out.getvalue()

        is_strict = strict or allow_default
        return native_fastavro_encoder(self._graph, encode, is_strict=is_strict, times=self._times)

    def _misfit(self, value: object, error: Exception) -> EncodeError:
        problems: list[tuple[str, str]] = []
        try:
            validate(value, cast("dict[object, object]", self._parsed), raise_errors=True, strict=self._strict)
        except ValidationError as failure:
            problems = [(one.field or "", type(one.datum).__name__) for one in failure.errors if hasattr(one, "datum")]
        except Exception:  # noqa: BLE001 - it is asked for words only, and the writer has given some
            problems = []
        fields = tuple(dict.fromkeys(field for field, _ in problems if field))
        where = "; ".join(f"{field or 'the root'} has {kind}" for field, kind in dict.fromkeys(problems))
        at = f" at {where}" if where else ""
        words = f"The value does not fit its Avro schema{at} ({type(error).__name__}: {shortened(str(error))})."
        return EncodeError(words, paths=fields)

    def decoder(self, reader: AvroSchema | None) -> Decode:
        """Reads bodies that were written under this schema; converts them to the reader schema if there is one."""
        if self._is_bytes:
            return lambda payload, body_offset: payload[body_offset:]
        if reader is None and not self._return_record_name:
            return self._decoder_of(self._times)
        surplus = {} if reader is None else _surplus(self._graph, reader._graph)
        costs = Costs(self._graph, surplus, converts_decimals=True)
        guard, most_bytes = guard_of(costs), payload_bounds().decimal_bytes

        far_times = far_time_check(self._graph, cache(partial(self._decoder_of, "integers")))

        def explain(payload: bytes, body_offset: int) -> None:
            check_body(costs, payload, body_offset)
            if self._times == "datetimes":
                far_times(payload, body_offset)

        def check_long(payload: bytes, body_offset: int) -> None:
            if guard is not None:
                guard(payload, body_offset)
            if len(payload) > most_bytes:
                check_body(costs, payload, body_offset)

        return fastavro_decoder(
            cast("ParsedSchema", self._parsed),
            reader=None if reader is None else reader._parsed,
            return_record_name=self._return_record_name,
            guard=check_long if has_decimals(self._graph) else guard,
            explain=explain,
            refusal=_unreadable,
        )

    def columns_decoder(self, reader: AvroSchema | None, spec: ReadSpec) -> Decode:
        """Reads rows of columns. The aliases and defaults of a reader's schema count."""
        reader_schema = None if reader is None else ReaderSchema(text=reader.text, references=reader._references)
        reader_schema = usable_reader(reader_schema, spec.case_rule)
        spec = replace(spec, reader_schema=reader_schema)
        return decode_plan(Format.AVRO, self.text, spec, self._references)

    def _decoder_of(self, times: Times) -> Decode:
        return avro.decoder(self.text, ReadSpec(times=times), self._references)


def _with_bounded_ints(parsed: object) -> object:
    """fastavro's parsed form with a logical type on each int, so that it writes no int of more than 32 bits."""
    if isinstance(parsed, list):
        return [_with_bounded_ints(part) for part in parsed]
    if parsed == "int":
        return {"type": "int", "logicalType": _INT}
    if not isinstance(parsed, dict):
        return parsed
    bounded = {key: _with_bounded_ints(part) if key in ("items", "values") else part for key, part in parsed.items()}
    if parsed.get("type") == "int":
        named = f"{_INT}-{parsed.get('logicalType')}"
        bounded["logicalType"] = named if f"int-{named}" in LOGICAL_WRITERS else _INT
    if "fields" in parsed:
        bounded["fields"] = [field | {"type": _with_bounded_ints(field["type"])} for field in parsed["fields"]]
    if "__named_schemas" in parsed:
        schemas = cast("dict[str, object]", parsed["__named_schemas"])
        bounded["__named_schemas"] = {name: _with_bounded_ints(schema) for name, schema in schemas.items()}
    return bounded


_INT: Final = "srfix-int"


def _bounded(value: object, _: object) -> object:
    # fastavro refuses a value that is not an int; in a union another branch may accept it.
    return "more than 32 bits" if isinstance(value, int) and not INT_MIN <= value <= INT_MAX else value


def _bounded_as(prepare: Callable[[Any, Any], object], value: object, schema: object) -> object:
    return _bounded(prepare(value, schema), schema)


LOGICAL_WRITERS[f"int-{_INT}"] = _bounded
for _logical in ("date", "time-millis"):
    LOGICAL_WRITERS[f"int-{_INT}-{_logical}"] = partial(_bounded_as, LOGICAL_WRITERS[f"int-{_logical}"])


def _without_times(parsed: object) -> object:
    if isinstance(parsed, list):
        return [_without_times(part) for part in parsed]
    if not isinstance(parsed, dict):
        return parsed
    is_time = parsed.get("type") in ("int", "long") and str(parsed.get("logicalType", "")).startswith(_TIME_TYPES)
    return {key: _without_times(part) for key, part in parsed.items() if not (is_time and key == "logicalType")}


_TIME_TYPES: Final = ("date", "time-", "timestamp-", "local-timestamp-")


def _unreadable(error: Exception) -> DecodeError:
    return DecodeError(
        "The body is well-formed, but cannot be read under the reader's schema "
        f"({type(error).__name__}: {shortened(str(error))})."
    )


def _surplus(writer: AvroNode, reader: AvroNode) -> dict[AvroNode, int]:
    """The values that a reader schema's defaults can add to each of the writer's records."""
    added = 0
    for record in every_node(reader):
        defaults = (part.default for part in record.fields if part.default is not MISSING)
        added = max(added, len(record.fields) + sum(1 + text_cost(len(json.dumps(default))) for default in defaults))
    return {node: CONTAINER + added for node in every_node(writer) if node.kind == "record"}


def _parse(text: str, references: References) -> _Parsed:
    """fastavro's parsed form, as in confluent-kafka: a referenced schema stands at its first use."""
    try:
        raw = json.loads(text)
        if not references:
            return cast("_Parsed", fastavro.parse_schema(raw))
        return cast("_Parsed", load_schema("", repo=_Repository(raw, references)))
    except Exception as error:
        raise SchemaError(
            f"The schema text is not an Avro schema ({type(error).__name__}: {shortened(str(error))})."
        ) from error


class _Repository(AbstractSchemaRepository):  # type: ignore[misc, unused-ignore]
    """The schemas to which a root schema refers, by their own names and by the names of the references."""

    def __init__(self, root: object, references: References) -> None:
        self._schemas: dict[str, object] = {"": root}
        for name, text in references:
            raw = json.loads(text)
            self._schemas[name] = raw
            if isinstance(raw, dict) and isinstance(raw.get("name"), str):
                space, type_name = raw.get("namespace"), raw["name"]
                self._schemas[f"{space}.{type_name}" if space and "." not in type_name else type_name] = raw

    def load(self, subject: str) -> object:
        """Returns a copy, because fastavro changes its arguments."""
        if subject not in self._schemas:
            raise SchemaRepositoryError(f"no reference defines {subject}")
        return deepcopy(self._schemas[subject])


def _write_bytes(value: object, prefix: bytes) -> bytes:
    if isinstance(value, str):
        return prefix + value.encode()
    if isinstance(value, bytes):
        return prefix + value
    raise EncodeError(f"The schema is bytes, so the value must be bytes or str, not {type(value).__name__}.")
