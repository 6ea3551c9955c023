"""The instructions for Spark's own Avro to write a plan's bytes, or the reasons why it cannot. Avro's bytes hold no
names, logical types and references. So `to_avro` gets a schema with the same bytes: fields `f0`, `f1`, …; a DATE as its
int; every map as an array of entries, in order. Neither `spark.sql.caseSensitive` nor the rebase modes matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from srfix.serde.casing import are_distinct, match_fields
from srfix.serde.columns.half import only_column, struct_of
from srfix.serde.columns.times import with_times
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.formats.avro import Analysis, AvroNode, AvroType, describe, load, with_plain_times
from srfix.serde.formats.avro.write.trees import written
from srfix.serde.formats.table import Format
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Entries, Free, Items, WriteFields, Written
from srfix.serde.spark.frame_types import FrameField, FrameType, ddl, fields_of, quoted, sql_text, word_of
from srfix.serde.spark.interface import Feed
from srfix.serde.spark.releases import arrow_or
from srfix.serde.spark.write.decisions import FrameRow, WriteDecisions, bad_row_words
from srfix.serde.spark.write.jvm_leaves import JvmRefusal, Piece, SchemaJson, missing, scalar

_LEGAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING: Final = Piece(schema="null", sql="NULL")
"""Replaces a refused value, so that the walk can continue and name every refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmWrite:
    schema: str
    row: str
    is_null: str | None
    skipped: int = 0
    """The leading bytes of `to_avro` that are not of the body: the length, if the whole body is a number's bytes."""
    is_raw: bool = False
    """True if the row is already the body."""


def jvm_write(plan: WriteDecisions, row: FrameRow) -> JvmWrite:
    writer, made = _walked(plan, row)
    wrong = [refusal.why for refusal in writer.refusals if refusal.is_final]
    if wrong:
        raise ColumnError(
            f"The frame's rows cannot be written as {plan.role.value}s of topic {plan.topic!r}: {'; '.join(wrong)}. "
            "Cast, rename, add or drop columns first."
        )
    if writer.refusals:
        raise _refused(plan, [refusal.why for refusal in writer.refusals])
    return made


def write_feeds(plan: WriteDecisions, row: FrameRow) -> tuple[Feed, ...]:
    """Nothing if Spark cannot write such a schema; `jvm_write` says why."""
    try:
        return tuple(_walked(plan, row)[0].feeds)
    except EngineRefusedError:
        return ()


def _walked(plan: WriteDecisions, row: FrameRow) -> tuple[_Writer, JvmWrite]:
    if plan.format is not Format.AVRO or plan.settled is None:
        raise _refused(plan, [f"bodies are {plan.format.name}, but Spark writes only Avro"])
    if plan.is_given:
        raise _refused(plan, ["the schema was not made from the columns, so they are written by Connect's rules"])
    root = load(plan.settled.schema.text, plan.settled.references)
    if Analysis(root).is_recursive:
        raise _refused(plan, ["the schema is recursive"])
    writer, columns = _Writer(plan, row), plan.columns
    if plan.times == "integers":
        # Under the schema without the integers' logical types, the bytes are the same.
        root, columns = with_plain_times(root), None if columns is None else with_times(columns, plan.times)
    if plan.wrapped:
        return writer, writer.row(written(root, None if columns is None else struct_of(columns)))
    assert columns is not None
    column = only_column(columns)
    return writer, writer.bare(written(root, column.type), column.name)


def _refused(plan: WriteDecisions, reasons: list[str]) -> EngineRefusedError:
    return EngineRefusedError(
        f"Spark's own Avro cannot write the {plan.role.value}s of topic {plan.topic!r} exactly: {'; '.join(reasons)}. "
        + arrow_or("Cast the columns first.", advice="Cast the columns first, or use the engine 'arrow'."),
        reasons=tuple(reasons),
    )


class _Writer:
    def __init__(self, plan: WriteDecisions, row: FrameRow) -> None:
        self._plan = plan
        self._row = row
        self._numbers = 0
        self.refusals: list[JvmRefusal] = []
        self.feeds: list[Feed] = []

    def row(self, root: Written[AvroType]) -> JvmWrite:
        struct = self._row.struct
        fields = root.how
        if root.writer.node.kind != "record" or not isinstance(fields, WriteFields):
            self._refuse("", f"is written as a {describe(root.writer.node)}, not as a record")
            fields = WriteFields()
        piece = self._struct(fields, self._row.fields, None if struct is None else quoted(struct), "")
        is_null = None if struct is None else f"{quoted(struct)} IS NULL"
        return JvmWrite(schema=json.dumps(piece.schema), row=piece.sql, is_null=is_null)

    def bare(self, root: Written[AvroType], name: str) -> JvmWrite:
        struct, node = self._row.struct, root.writer.node
        field = self._matched((name,), self._row.fields, "").get(name)
        if field is None:
            self._refuse(f"->{name}", "is missing, but it is the only column", is_final=True)
            field = FrameField(name=name, type="void")
        self._feed(name, field.name, ddl(field.type))
        sql = quoted(field.name) if struct is None else f"{quoted(struct)}.{quoted(field.name)}"
        piece = self._value(root, field.type, sql, f"->{name}")
        is_null = f"{sql} IS NULL"
        if node.kind == "bytes" and node.logical != "decimal":
            return JvmWrite(schema='"bytes"', row=piece.sql, is_null=is_null, is_raw=True)
        # A record adds no bytes.
        record: SchemaJson = {"type": "record", "name": "bare", "fields": [{"name": "f0", "type": piece.schema}]}
        return JvmWrite(
            schema=json.dumps(record),
            row=f"named_struct('f0', {piece.sql})",
            is_null=is_null,
            # A root of bytes has no length before it. 38 digits take at most 16 bytes, and this length takes one byte.
            skipped=1 if node.kind == "bytes" else 0,
        )

    def _any(self, value: Written[AvroType], frame_type: FrameType, sql: str, path: str) -> Piece:
        writer = value.writer
        piece = self._value(value, frame_type, sql, path)
        if writer.node.kind != "union":
            error = self._error(f"{path_words(path, 'the row')} is null, but the schema does not allow that.")
            return Piece(schema=piece.schema, sql=f"coalesce({piece.sql}, {error})")
        if isinstance(value.how, Free):
            return piece
        is_first = writer.node.branches[0].kind == "null"
        schema: SchemaJson = ["null", piece.schema] if is_first else [piece.schema, "null"]
        return Piece(schema=schema, sql=piece.sql, is_as_it_is=piece.is_as_it_is)

    def _value(self, value: Written[AvroType], frame_type: FrameType, sql: str, path: str) -> Piece:
        """Null is allowed, even if the type does not allow it."""
        word, how, writer = word_of(frame_type), value.how, value.writer
        if isinstance(how, Free) or (writer.node.kind == "union" and not writer.is_nullable):
            return self._refuse(path, f"is written as a {describe(writer.node)}, but Spark cannot choose its branch")
        match how:
            case WriteFields():
                if word == "struct":
                    return self._struct(how, fields_of(frame_type), sql, path)
                return self._refuse(path, f"is {ddl(frame_type)}, not a struct", is_final=True)
            case Entries() if word == "map":
                return self._map(writer.value, how, cast("Mapping[str, FrameType]", frame_type), sql, path)
            case Entries() if word != "array" or writer.value.kind == "map":
                return self._refuse(path, f"is {ddl(frame_type)}, not a map", is_final=True)
            case Entries():
                return self._array(written(writer.items().node, None), frame_type, sql, path)
            case Items(items):
                if word == "array":
                    return self._array(items, frame_type, sql, path)
                return self._refuse(path, f"is {ddl(frame_type)}, not an array", is_final=True)
        piece = scalar(
            writer.value,
            frame_type,
            sql,
            lambda why, more: self._error(f"{path_words(path, 'the row')} {why}", more),
            cut_times=self._plan.cut_times,
        )
        return self._made(piece, path)

    def _array(self, items: Written[AvroType], frame_type: FrameType, sql: str, path: str) -> Piece:
        item = cast("Mapping[str, FrameType]", frame_type)["elementType"]
        name = self._name("x")
        piece = self._any(items, item, name, f"{path}->ARRAY")
        schema: SchemaJson = {"type": "array", "items": piece.schema}
        if piece.is_as_it_is:
            return Piece(schema=schema, sql=sql, is_as_it_is=True)
        return Piece(schema=schema, sql=f"transform({sql}, {name} -> {piece.sql})")

    def _map(
        self, node: AvroNode, of: Entries[Written[AvroType]], frame_type: Mapping[str, FrameType], sql: str, path: str
    ) -> Piece:
        assert node.items is not None
        name = self._name("x")
        if word_of(frame_type["keyType"]) != "string":
            return self._refuse(path, f"is {ddl(frame_type)}, but the keys of a map must be string", is_final=True)
        key = self._any(of.keys, frame_type["keyType"], f"{name}.`key`", f"{path}->MAP_KEY")
        value = self._any(of.values, frame_type["valueType"], f"{name}.`value`", f"{path}->MAP_VAL")
        parts = {"key": key.schema, "value": value.schema}
        order = ["key", "value"] if node.kind == "map" else [field.name for field in node.items.fields]
        schema: SchemaJson = {
            "type": "array",
            "items": {
                "type": "record",
                "name": self._name("r"),
                "fields": [{"name": part, "type": parts[part]} for part in order],
            },
        }
        entries = f"map_entries({sql})"
        if value.is_as_it_is:  # a key is never null
            return Piece(schema=schema, sql=entries)
        made = f"named_struct('key', {name}.`key`, 'value', {value.sql})"
        return Piece(schema=schema, sql=f"transform({entries}, {name} -> {made})")

    def _struct(self, of: WriteFields[AvroType], fields: tuple[FrameField, ...], sql: str | None, path: str) -> Piece:
        """Without `sql`, the fields are the frame's columns."""
        names = [part.key for part in of.fields]
        matched = self._matched(names, fields, path)
        # Spark finds a field by its name, and may ignore case, so a cast is used, which goes by position.
        is_clear = sql is None or are_distinct([field.name for field in fields])
        by_position = ", ".join(f"c{number}: {ddl(field.type)}" for number, field in enumerate(fields))
        inner = sql if is_clear else f"CAST({sql} AS struct<{by_position}>)"
        pieces: list[Piece] = []
        for part in of.fields:
            where, field = f"{path}->{part.key}", matched.get(part.key)
            if field is None or part.value is None:
                pieces.append(self._made(missing(part), where))
                default = None if part.missing is None else part.missing.json
                self._feed(where, None, f"not in the frame: {json.dumps(default)}")
                continue
            spelt = quoted(field.name) if is_clear else f"c{fields.index(field)}"
            self._feed(where, field.name, ddl(field.type))
            pieces.append(self._any(part.value, field.type, spelt if inner is None else f"{inner}.{spelt}", where))
        frame_names = [matched[name].name if name in matched else "" for name in names]
        # Columns, or a struct with names that differ from the record's, are combined; another struct may be used
        # unchanged.
        is_as_it_is = (
            sql is not None
            and is_clear
            and all(piece.is_as_it_is for piece in pieces)
            and all(_LEGAL.fullmatch(name) for name in frame_names)
        )
        labels = frame_names if is_as_it_is else [f"f{number}" for number in range(len(pieces))]
        schema: SchemaJson = {
            "type": "record",
            "name": self._name("r"),
            "fields": [{"name": label, "type": piece.schema} for label, piece in zip(labels, pieces, strict=True)],
        }
        if is_as_it_is and sql is not None:
            return Piece(schema=schema, sql=sql, is_as_it_is=True)
        made = ", ".join(f"'{label}', {piece.sql}" for label, piece in zip(labels, pieces, strict=True))
        struct = f"named_struct({made})"
        return Piece(schema=schema, sql=struct if sql is None else f"IF({sql} IS NULL, NULL, {struct})")

    def _matched(self, names: Sequence[str], fields: tuple[FrameField, ...], path: str) -> dict[str, FrameField]:
        frame_names = [field.name for field in fields]
        matched = match_fields(names, frame_names, self._plan.case_rule, where=path_words(path, "the frame"))
        used = set(matched.values())
        for name in frame_names:
            if name not in used:
                self._refuse(f"{path}->{name}", "feeds no column or field", is_final=True)
        by_name = {field.name: field for field in fields}
        return {name: by_name[field] for name, field in matched.items()}

    def _made(self, piece: Piece | JvmRefusal, path: str) -> Piece:
        if isinstance(piece, JvmRefusal):
            return self._refuse(path, piece.why, is_final=piece.is_final)
        if isinstance(piece.schema, dict) and piece.schema.get("name") == "":
            return replace(piece, schema=piece.schema | {"name": self._name("n")})
        return piece

    def _refuse(self, path: str, why: str, *, is_final: bool = False) -> Piece:
        self.refusals.append(JvmRefusal(why=f"{path_words(path, 'the row')} {why}", is_final=is_final))
        return _NOTHING

    def _error(self, why: str, *more: str) -> str:
        """An expression that fails the job, in Spark's SQL, like `more`."""
        before, behind = bad_row_words(self._plan, self._row.place)
        words = [before, sql_text(why), *more, sql_text("."), behind] if more else [before, sql_text(why), behind]
        return f"raise_error(concat({', '.join(words)}))"

    def _feed(self, where: str, field: str | None, detail: str) -> None:
        self.feeds.append(Feed(column=where.removeprefix("->"), field=field, detail=detail))

    def _name(self, letter: str) -> str:
        self._numbers += 1
        return f"{letter}{self._numbers}"
