"""The decode plan of a writer schema for a set of columns: fastavro reads a copy of the schema, renamed to the columns
(`avro.read.plan`), and the remaining steps run for each row (`avro.read.finish`). A type that cannot feed its column
fails as in `ConnectDataTranslator`: only when a row holds it, null or not."""

from __future__ import annotations

import sys
from functools import cache, lru_cache, partial
from typing import cast

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.half import require_string_keys
from srfix.serde.columns.times import WrittenTimes
from srfix.serde.engine import Decode
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.engine import far_time_check, with_plain_times
from srfix.serde.formats.avro.read import kernel
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.read.finish import Finish, hides_ints, int_check, unless_none, unscaled_decimal
from srfix.serde.formats.avro.read.kernel import native_decoder
from srfix.serde.formats.avro.read.leaves import ReadStep
from srfix.serde.formats.avro.read.plan import FastavroPlan
from srfix.serde.formats.avro.read.resolution import resolved_root
from srfix.serde.formats.avro.schema import AvroNode, has_decimals, load
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.interface import Value
from srfix.serde.projection.tree import Projection
from srfix.serde.projection.walk import project
from srfix.serde.specs import ReadSpec


@lru_cache(maxsize=256)
def projection(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Projection[AvroType]:
    names = tuple(column.name for column in spec.known_columns) if spec.wrapped and spec.reader_schema else None
    root = resolved_root(schema_text, references, spec.reader_schema, spec.case_rule, names)
    require_string_keys(spec.known_columns, "Avro")
    return project(AvroType(root), spec)


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """A decoder for bodies that were written under a schema. A null root is a row of nulls if un-wrapped, otherwise
    None; bytes as the root have no length (`AbstractKafkaAvroSerializer`)."""
    if schema_text is None:
        raise SchemaError("Avro bodies cannot be read without the schema that they were written under.")
    if spec.columns is None:
        return as_written(load(schema_text, references), spec.times)
    projected, name = projection(schema_text, spec, references), spec.columns[0].name
    root = projected.root.writer.node

    def decode_by(*, as_on_the_wire: bool) -> Decode:
        # It finds the message for a time that fastavro refuses, with the column's path and the number.
        slowly = cache(partial(decode_by, as_on_the_wire=True))
        explain = None if as_on_the_wire else (lambda payload, offset: slowly()(payload, offset))
        plan = FastavroPlan(for_columns=True, as_on_the_wire=as_on_the_wire)
        step = plan.rows(projected)
        # `toKsqlRow` checks for null before it checks types.
        row = unless_none(step.finish) if step.is_refusal and step.finish is not None else step.finish
        finish = row if spec.wrapped else _bare(step, name)
        if root.is_bare_bytes:
            fields = cast("list[dict[str, str]]", step.schema.get("fields"))
            return _raw_bytes(finish, as_field=None if root.kind == "bytes" else fields[0]["name"])
        decode = plan.decoder(root, step, finish, explain=explain)
        return decode if as_on_the_wire else native_decoder(lambda to: to.rows(projected), plan.costs, decode)

    return decode_by(as_on_the_wire=False)


def left_to_python(projected: Projection[AvroType]) -> str | None:
    """Why Python makes a schema's rows for Arrow; None if the kernel does, whether or not one is installed."""
    root = projected.root.writer.node
    if root.is_bare_bytes:
        return "the body is bare bytes"
    plan = FastavroPlan(for_columns=True)
    step = plan.rows(projected)
    plan.decoder(root, step, step.finish)  # what it costs is known then
    return kernel.left_to_python(lambda to: to.rows(projected), plan.costs)


def as_written(root: AvroNode, times: WrittenTimes) -> Decode:
    if times == "integers":
        root = with_plain_times(root)
    if root.kind == "bytes":
        return _raw_bytes(unscaled_decimal(root.scale) if root.connect_logical == "decimal" else None)
    checks_ints = hides_ints(root)
    finish = None if checks_ints else int_check(root)
    is_plain = times == "integers"
    plainly = cache(lambda: as_written(with_plain_times(root, and_uuids=True), "integers"))
    explain = None if is_plain else far_time_check(root, plainly)

    def decode_by(*, bounds_decimals: bool) -> tuple[Decode, Costs]:
        plan = FastavroPlan(for_columns=False, checks_ints=checks_ints, bounds_decimals=bounds_decimals)
        return plan.decoder(root, ReadStep(schema=plan.verbatim(root)), finish, explain=explain), plan.costs

    def native(decode: Decode) -> Decode:
        # Its decimals are shorter than the limit.
        return native_decoder(lambda to: to.as_written(root), costs, decode)

    most_bytes = payload_bounds().decimal_bytes
    short, costs = decode_by(bounds_decimals=False)
    if not has_decimals(root) or most_bytes >= sys.maxsize:
        return native(short)
    long, _ = decode_by(bounds_decimals=True)

    def decode(payload: bytes, body_offset: int) -> Value:
        # A short body has no long decimal, and fastavro's own decoding is the fastest.
        return (short if len(payload) <= most_bytes else long)(payload, body_offset)

    return native(decode)


def values_decoder(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode | None:
    """Like `decoder`, for typed arrays, which check an INTEGER's bits; None if the root cannot feed the columns."""
    projected = projection(schema_text, spec, references)
    root = projected.root.writer.node
    if root.kind != "record" or root.is_bare_bytes:
        return None
    plan = FastavroPlan(for_columns=True, as_values=True)
    step = plan.rows(projected)
    return None if step.is_refusal else plan.decoder(root, step, step.finish)


def _bare(step: ReadStep, name: str) -> Finish:
    finish = step.whole("")

    def wrap(value: Value) -> Value:
        return {name: value if value is None or finish is None else finish(value)}

    return wrap


def _raw_bytes(finish: Finish | None, as_field: str | None = None) -> Decode:
    """`as_field`: the name in the record of one field, if the bytes are a type of the reader's union."""

    def decode(payload: bytes, body_offset: int) -> Value:
        raw = payload[body_offset:]
        value: Value = raw if as_field is None else {as_field: raw}
        return value if finish is None else finish(value)

    return decode
