"""The decode plan of a writer schema for a set of columns: made once, not per record.

An Avro body carries no names, so the writer's fields are renamed to the columns in a copy of the writer schema
(`_avro_plan`), and the reader makes rows with the right names at no cost. What is left per row is only what the plan needs
(`_avro_finish`): fields that no column declares are dropped, columns that no field feeds become None, values become what the
column's type is, and a type that does not feed its column fails as ksqlDB's `ConnectDataTranslator` does: where the row holds
it, whether it is null or not, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from srfix.serde._column_halves import require_string_keys
from srfix.serde._column_types import Column, Columns, Struct
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode, fastavro_decoder
from srfix.serde.errors import ColumnError, SchemaError, TrailingBytesError
from srfix.serde.formats._avro_finish import Finish, unless_none, unscaled_decimal
from srfix.serde.formats._avro_ints import hides_ints, int_check
from srfix.serde.formats._avro_plan import ReadPlan, Step
from srfix.serde.formats._avro_schema import MAX_LEVELS, AvroNode, analyse, load
from srfix.serde.formats._avro_skim import skim
from srfix.serde.interface import Value

__all__ = ["decoder", "only_column"]

# A block of -2⁶³ items: negated it is itself, and fastavro takes it for none.
_LEAST_LONG: Final = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"


def decoder(
    schema_text: str | None,
    *,
    columns: Columns | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    wrapped: bool = True,
    raw_bytes_root: bool = True,
) -> Decode:
    """A decoder for bodies written under a schema; without columns the rows are as fastavro gives them.

    With columns a row is a dict of all of them, in their order. Null at the root is a row of nulls if un-wrapped, and
    None otherwise, as in the engine.

    :param references: the texts that the schema refers to, in the order of registration.
    :param wrapped: False says that the body is the bare value of the only column.
    :param raw_bytes_root: a root of the Avro type bytes, a decimal too, is the whole body, without Avro's length: so
        Confluent's Java serializer writes it (`AbstractKafkaAvroSerializer`). False is Avro's own way, which
        confluent-kafka's Python serializer goes.

    :raises SchemaError: if the text is not an Avro schema.
    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    :raises ColumnError: if the columns cannot be those of Avro: keys of a MAP that are not STRING, two names that become
        one, several columns where one is un-wrapped.
    """
    if schema_text is None:
        raise SchemaError("Avro bodies cannot be read without the schema that they were written under.")
    root = load(schema_text, references)
    checks_ints = columns is None and hides_ints(root)
    plan = ReadPlan(case_rule, for_columns=columns is not None, checks_ints=checks_ints)
    step = Step(schema=plan.verbatim(root))
    finish = None if checks_ints else int_check(root)
    if columns is not None:
        require_string_keys(columns, "Avro")
        step, finish = _of_columns(plan, root, columns, wrapped=wrapped)
    if raw_bytes_root and root.kind == "bytes":
        return _raw_bytes(root, columns, finish)
    return fastavro_decoder(
        step.schema | {"__fastavro_parsed": True, "__named_schemas": {}},
        guard=_guard(root),
        finish=finish,
        explain=partial(_check, root),
    )


def _of_columns(plan: ReadPlan, root: AvroNode, columns: Columns, *, wrapped: bool) -> tuple[Step, Finish | None]:
    if wrapped:
        # A STRUCT has no keys; the half of a record that its columns are knows which it is.
        step = plan.column(root, Struct(tuple(Column(column.name, column.type) for column in columns)), "")
        # `toKsqlRow` asks for null before it looks at types.
        return step, unless_none(step.finish) if step.is_refusal and step.finish is not None else step.finish
    column = only_column(columns)
    name, step = column.name, plan.column(root, column.type, "")
    finish = step.whole("")

    def wrap(value: Value) -> Value:
        return {name: value if value is None or finish is None else finish(value)}

    return step, wrap


def only_column(columns: Columns) -> Column:
    """The column that an un-wrapped body is the value of.

    :raises ColumnError: if there are several.
    """
    if len(columns) != 1:
        raise ColumnError(
            f"An un-wrapped body holds the value of one column, but there are {len(columns)}: "
            f"{', '.join(column.name for column in columns)}. Wrap them."
        )
    return columns[0]


def _raw_bytes(root: AvroNode, columns: Columns | None, finish: Finish | None) -> Decode:
    if columns is None and root.connect_logical == "decimal":
        finish = unscaled_decimal(root.scale)

    def decode(payload: bytes, body_offset: int) -> Value:
        value = payload[body_offset:]
        return value if finish is None else finish(value)

    return decode


def _guard(root: AvroNode) -> Callable[[bytes, int], object] | None:
    analysis = analyse(root)
    if analysis.has_unbounded_arrays:
        return partial(_check, root)
    if analysis.is_recursive:
        # A loop through the schema costs a byte at least, so a short body cannot go deep.
        return partial(_check_longer, root, MAX_LEVELS // analysis.node_count)
    return partial(_check_blocks, root) if analysis.has_blocks else None


def _check(root: AvroNode, payload: bytes, body_offset: int) -> None:
    end = skim(payload, body_offset, root)
    if end != len(payload):
        raise TrailingBytesError(
            f"{len(payload) - end} bytes are left over behind the last field, of a body of "
            f"{len(payload) - body_offset}: it was written under another schema, or is corrupt."
        )


def _check_longer(root: AvroNode, safe_bytes: int, payload: bytes, body_offset: int) -> None:
    if len(payload) - body_offset > safe_bytes or (255 in payload and _LEAST_LONG in payload):
        _check(root, payload, body_offset)


def _check_blocks(root: AvroNode, payload: bytes, body_offset: int) -> None:
    # A single byte is looked for much faster.
    if 255 in payload and _LEAST_LONG in payload:
        _check(root, payload, body_offset)
