"""The decode plan of a writer schema for a set of columns: made once, not per record.

An Avro body carries no names, so the writer's fields are renamed to the columns in a copy of the writer schema
(`_avro_plan`), and the reader makes rows with the right names at no cost. What is left per row is only what the plan needs
(`_avro_finish`): fields that no column declares are dropped, columns that no field feeds become None, values become what the
column's type is, and a type that does not feed its column fails as ksqlDB's `ConnectDataTranslator` does: where the row holds
it, whether it is null or not, and not before.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import cast

from srfix.serde._column_halves import only_column, require_string_keys
from srfix.serde._column_types import Column, Columns
from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, SchemaError
from srfix.serde.formats._avro_costs import Costs
from srfix.serde.formats._avro_engine import fastavro_decoder
from srfix.serde.formats._avro_finish import Finish, unless_none, unscaled_decimal
from srfix.serde.formats._avro_guard import check_body, guard_of
from srfix.serde.formats._avro_ints import hides_ints, int_check
from srfix.serde.formats._avro_plan import ReadPlan, Step
from srfix.serde.formats._avro_resolution import ReaderSchema, default_body, resolved_root
from srfix.serde.formats._avro_schema import AvroField, AvroNode, has_decimals, load
from srfix.serde.interface import Row, Value

__all__ = ["decoder", "values_decoder"]


def decoder(
    schema_text: str | None,
    *,
    columns: Columns | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    wrapped: bool = True,
    strict: bool = False,
    reader: ReaderSchema | None = None,
) -> Decode:
    """A decoder for bodies written under a schema; without columns the rows are as fastavro gives them.

    With columns a row is a dict of all of them, in their order. Null at the root is a row of nulls if un-wrapped, and
    None otherwise, as in the engine. A root of the Avro type bytes, a decimal too, is the whole body, without Avro's
    length: so Confluent's serializers write it (`AbstractKafkaAvroSerializer`, confluent-kafka).

    :param references: the texts that the schema refers to, in the order of registration.
    :param wrapped: False says that the body is the bare value of the only column.
    :param strict: a schema that leaves a column, or a field inside one, unfed has no rows (`ColumnNotFedError`), as one that
        feeds none never has (`NothingFedError`).
    :param reader: the schema whose aliases and defaults count (`_avro_resolution`); for columns only.
    :raises SchemaError: if the text is not an Avro schema, or a default does not fit.
    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    :raises ColumnError: if the columns cannot be those of Avro: keys of a MAP that are not STRING, two names that become
        one, several columns where one is un-wrapped.
    """
    if schema_text is None:
        raise SchemaError("Avro bodies cannot be read without the schema that they were written under.")
    if columns is None:
        return _as_written(load(schema_text, references), case_rule)
    root = resolved_root(schema_text, references, reader)
    plan = ReadPlan(case_rule, for_columns=True, strict=strict, default_of=_default_of)
    require_string_keys(columns, "Avro")
    step, finish = _of_columns(plan, root, columns, wrapped=wrapped)
    return _raw_bytes(finish) if root.kind == "bytes" else _read_by_fastavro(root, plan, step, finish)


def _as_written(root: AvroNode, case_rule: CaseRule) -> Decode:
    """Without columns."""
    if root.kind == "bytes":
        return _raw_bytes(unscaled_decimal(root.scale) if root.connect_logical == "decimal" else None)
    checks_ints = hides_ints(root)
    finish = None if checks_ints else int_check(root)

    def decode_by(*, bounds_decimals: bool) -> Decode:
        plan = ReadPlan(case_rule, for_columns=False, checks_ints=checks_ints, bounds_decimals=bounds_decimals)
        return _read_by_fastavro(root, plan, Step(schema=plan.verbatim(root)), finish)

    most_bytes = payload_bounds().decimal_bytes
    if not has_decimals(root) or most_bytes >= sys.maxsize:
        return decode_by(bounds_decimals=False)
    short, long = decode_by(bounds_decimals=False), decode_by(bounds_decimals=True)

    def decode(payload: bytes, body_offset: int) -> Value:
        # A short body has no long decimal, and fastavro's own reading is the quickest.
        return (short if len(payload) <= most_bytes else long)(payload, body_offset)

    return decode


def values_decoder(
    schema_text: str,
    *,
    columns: Columns,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    strict: bool = False,
    reader: ReaderSchema | None = None,
) -> Decode | None:
    """As `decoder`, for typed arrays: what it gives is an iterable of the columns' values, in their order, of which

    - an instant in a TIMESTAMP column is the number of milliseconds since 1970, or a datetime, whichever costs less;
    - a day in a DATE column is the number of days since 1970, or a date;
    - an INTEGER column's number may have more than 32 bits.

    An array that refuses a number, or finds one beyond Python's years, has `decoder` find the words. None for a root that is
    no record, or that cannot feed the columns.
    """
    root = resolved_root(schema_text, references, reader)
    require_string_keys(columns, "Avro")
    if root.kind != "record":
        return None
    plan = ReadPlan(case_rule, for_columns=True, as_values=True, strict=strict, default_of=_default_of)
    step = plan.row(root, columns)
    if step.is_refusal:
        return None
    return _read_by_fastavro(root, plan, step, step.finish)


def _default_of(field: AvroField, column: Column) -> Value:
    """A default, read as a value of the field's type is.

    :raises SchemaError: if it does not fit the type, or the type does not feed the column.
    """
    root = AvroNode(kind="record", name="Default", fields=(field,))
    plan = ReadPlan(CaseRule.EXACT, for_columns=True, default_of=_default_of)
    own = Column(field.name, column.type)
    step, finish = _of_columns(plan, root, (own,), wrapped=True)
    try:
        row = _read_by_fastavro(root, plan, step, finish)(default_body(field), 0)
    except DecodeError as error:
        raise SchemaError(f"The default of the field {field.name} cannot be read: {error.message}") from error
    return cast("Row", row)[field.name]


def _read_by_fastavro(root: AvroNode, plan: ReadPlan, step: Step, finish: Finish | None) -> Decode:
    costs = Costs(root, plan.surplus)
    return fastavro_decoder(
        step.schema | {"__fastavro_parsed": True, "__named_schemas": {}},
        guard=guard_of(costs),
        finish=finish,
        explain=partial(check_body, costs),
    )


def _of_columns(plan: ReadPlan, root: AvroNode, columns: Columns, *, wrapped: bool) -> tuple[Step, Finish | None]:
    if wrapped:
        step = plan.row(root, columns)
        # `toKsqlRow` asks for null before it looks at types.
        return step, unless_none(step.finish) if step.is_refusal and step.finish is not None else step.finish
    column = only_column(columns)
    name, step = column.name, plan.column(root, column.type, "")
    finish = step.whole("")

    def wrap(value: Value) -> Value:
        return {name: value if value is None or finish is None else finish(value)}

    return step, wrap


def _raw_bytes(finish: Finish | None) -> Decode:
    def decode(payload: bytes, body_offset: int) -> Value:
        value = payload[body_offset:]
        return value if finish is None else finish(value)

    return decode
