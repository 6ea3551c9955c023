"""Columns inferred from a JSON Schema, as ksqlDB infers them: through Connect's schema (`JsonSchemaTranslator`,
`ConnectKsqlSchemaTranslator`)."""

from __future__ import annotations

from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import Inferred, NameRule, columns_of
from srfix.serde.formats.json_schema.connect import connect_schema
from srfix.serde.subjects.names import Role


def infer_json_schema(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
) -> Inferred:
    """The columns of a JSON Schema, and the properties that no column type holds.

    Required or not makes no difference: every column may be null. An integer is a BIGINT and a number a DOUBLE unless
    `connect.type` says otherwise; an enum is a STRING; a oneOf or anyOf of several types a STRUCT of them. Properties
    stand by their `connect.index`, those without one in the order of Java's HashMap, as in the engine.

    :param names: `upper` names columns as unquoted identifiers would, `keep` as the properties are named.
    :param references: the texts that the schema refers to, by name (`ReferenceText`) or with an `$id`.
    :param role: names the one column of an un-wrapped schema: ROWKEY or ROWVAL.
    :param wrapped: False takes the whole schema as the type of one column. None is ksqlDB's default: it does so for every
        key, a record's too, and for no value.
    """
    return columns_of(connect_schema(text, references), names=names, role=role, wrapped=wrapped)


def columns_from_json_schema(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a JSON Schema, without a word about the properties that are left out: see `infer_json_schema`.

    :raises SchemaError: if the text is not a JSON Schema, or one that Connect refuses.
    :raises ColumnError: if it gives no columns.
    """
    return infer_json_schema(text, names=names, references=references).columns
