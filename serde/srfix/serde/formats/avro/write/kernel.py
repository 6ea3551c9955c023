"""Tells the native kernel how to write values (`serde/kernel/src/writing.rs`); the Python encoder writes the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from fastavro.write import LOGICAL_WRITERS

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.columns.times import WrittenTimes
from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.engine import Encode
from srfix.serde.errors import CasingError
from srfix.serde.formats.avro.schema import TIMES, AvroField, AvroNode
from srfix.serde.formats.avro.write.scalars import body_of, tagged
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.native import MOST_DIGITS, NotTakenError, kernel
from srfix.serde.projection.tree import Constant, Entries, Items, WriteField, WriteFields, WriteScalar, Written
from srfix.serde.specs import WriteSpec

_Part: TypeAlias = dict[str, Any]
_MOST_KEYS: Final = 64
"""The number of key sets whose matches are kept; more would be garbage."""
_LEVELS: Final = 200
"""How deep values may nest: far deeper than columns."""
_FASTAVRO_LOGICAL: Final = {*TIMES, ("bytes", "decimal"), ("fixed", "decimal")}
"""The logical types that fastavro and the kernel write in the same way."""


def native_encoder(value: Written[AvroType], otherwise: Encode, spec: WriteSpec) -> Encode:
    """The kernel's encoder; `otherwise` if there is no kernel, or it lacks a type. Arrow's names are matched, too."""
    native = kernel()
    # Bytes at the root are written without a length.
    if native is None or value.writer.node.kind == "bytes":
        return otherwise
    description = _Description(cut_times=spec.cut_times, times=spec.times)
    try:
        root = description.value(value)
    except NotTakenError:
        return otherwise
    if not spec.wrapped:
        root = description.add(kind="record", fields=[_field(root, key=spec.known_columns[0].name)])
    text, matched = description.text(root), partial(_matched, spec.case_rule)
    if names := description.names_of(root):
        under_names: Encode = native.Encoder(text, _refuse, matched).encode
        otherwise = _renamed(names, spec.case_rule, under_names, otherwise)
    encode: Encode = native.Encoder(text, otherwise, matched).encode
    return encode


def _refuse(_value: object, _prefix: bytes, /) -> bytes:
    raise NotTakenError


def _renamed(names: Sequence[str], case_rule: CaseRule, encode: Encode, otherwise: Encode) -> Encode:
    """Renames a row's keys in another letter case. `otherwise` writes all other rows, and those with such structs."""
    names_by_keys: dict[tuple[str, ...], tuple[str, ...] | None] = {}

    def encode_renamed(row: Any, prefix: bytes, /) -> bytes:
        if type(row) is not dict:
            return otherwise(row, prefix)
        copied = row.copy()  # another thread may change the row
        keys = tuple(copied)
        own = names_by_keys.get(keys, ())
        if own == ():
            if len(names_by_keys) >= _MOST_KEYS:
                names_by_keys.clear()
            own = names_by_keys[keys] = _names_of(keys, names, case_rule)
        if own is None:
            return otherwise(row, prefix)
        try:
            return encode(dict(zip(own, copied.values(), strict=True)), prefix)
        except NotTakenError:
            return otherwise(row, prefix)

    return encode_renamed


def _names_of(keys: tuple[Any, ...], names: Sequence[str], case_rule: CaseRule) -> tuple[str, ...] | None:
    """The columns' names for a row's keys; None if they are equal, or if a key feeds no column or more than one."""
    if set(keys) <= set(names) or not all(isinstance(key, str) for key in keys):
        return None
    try:
        matched = match_fields(names, keys, case_rule, where="the row")
    except CasingError:
        return None
    names_by_key = {key: name for name, key in matched.items()}
    return tuple(names_by_key[key] for key in keys) if len(names_by_key) == len(matched) == len(keys) else None


def native_fastavro_encoder(root: AvroNode, otherwise: Encode, *, is_strict: bool, times: WrittenTimes) -> Encode:
    """The kernel's encoder, with fastavro's bytes. `is_strict`: a missing field is an error, default or not."""
    native = kernel()
    if native is None or root.kind == "bytes":
        return otherwise
    description = _Description(cut_times=False, times=times, is_fastavros=True, is_strict=is_strict)
    try:
        text = description.text(description.as_written(root))
    except NotTakenError:
        return otherwise
    encode: Encode = native.Encoder(text, otherwise, partial(_matched, CaseRule.EXACT)).encode
    return encode


def _matched(case_rule: CaseRule, keys: Sequence[str], names: Sequence[str]) -> dict[str, str] | None:
    """Key → the name that feeds it, if they differ; None if a name feeds no key, or is ambiguous."""
    try:
        matched = match_fields(keys, names, case_rule, where="the row")
    except CasingError:
        return None
    return matched if set(matched.values()).issuperset(names) else None


class _Description:
    def __init__(
        self, *, cut_times: bool, times: WrittenTimes, is_fastavros: bool = False, is_strict: bool = False
    ) -> None:
        self._is_fastavros = is_fastavros
        self._is_strict = is_strict
        self._as_written: dict[AvroNode, int] = {}
        self._cut_times = cut_times
        self._times = times
        self._writes: list[_Part] = []
        self._records: dict[WriteFields[AvroType], int] = {}

    def names_of(self, root: int) -> tuple[str, ...]:
        """The keys of a row; none if it is not a record."""
        part = self._writes[root]
        return tuple(field["key"] for field in part.get("fields", ()) if field["key"] is not None)

    def text(self, root: int) -> bytes:
        return json.dumps({"writes": self._writes, "root": root, "levels": _LEVELS}).encode()

    def add(self, **part: object) -> int:
        self._writes.append(part)
        return len(self._writes) - 1

    def value(self, value: Written[AvroType]) -> int:
        writer = value.writer
        made = self._beside_null(value)
        if writer.value is writer.node:
            return made
        branch = writer.node.branches.index(writer.value)
        return self.add(kind="beside", null=_null_of(writer.node), branch=branch, value=made)

    def _beside_null(self, value: Written[AvroType]) -> int:
        node = value.writer.value
        match value.how:
            case WriteScalar(logical=logical, fits=None):
                return self.add(**self._scalar(node, logical))
            case Items(items):
                return self.add(kind="list", items=self.value(items))
            case Entries(_, values) if node.kind == "map":
                return self.add(kind="map", values=self.value(values))
            case Entries(keys, values):
                return self.add(kind="entries", key=self.value(keys), value=self.value(values))
            case WriteFields() as fields if not value.writer.is_union:
                return self._record(fields)
            case _:
                raise NotTakenError

    def as_written(self, node: AvroNode) -> int:
        if node not in self._as_written:
            # Stored before its parts are converted, because a recursive type refers to itself.
            self._as_written[node] = number = self.add()
            self._writes[number].update(self._part_as_written(node))
        return self._as_written[node]

    def _part_as_written(self, node: AvroNode) -> _Part:
        match node.kind:
            case "record":
                return {"kind": "record", "fields": [self._field_as_written(part) for part in node.fields]}
            case "union":
                values = [number for number, branch in enumerate(node.branches) if branch.kind != "null"]
                if len(values) != 1:
                    raise NotTakenError
                (branch,) = values
                value = self.as_written(node.branches[branch])
                return {"kind": "beside", "null": _null_of(node), "branch": branch, "value": value}
            case "array" | "map":
                assert node.items is not None
                items = self.as_written(node.items)
                return {"kind": "list", "items": items} if node.kind == "array" else {"kind": "map", "values": items}
            case _:
                logical = node.logical if f"{node.kind}-{node.logical}" in LOGICAL_WRITERS else None
                if logical not in (None, "uuid") and (node.kind, logical) not in _FASTAVRO_LOGICAL:
                    raise NotTakenError
                if (logical == "decimal" and not node.precision) or (node.kind, logical) == ("fixed", "uuid"):
                    raise NotTakenError
                return self._scalar(node, logical)

    def _field_as_written(self, part: AvroField) -> _Part:
        null = None if self._is_strict or part.default is not None else _null_of(part.node)
        missing = None if null is None else [2 * null]
        return _field(self.as_written(part.node), key=part.name, missing=missing)

    def _record(self, of: WriteFields[AvroType]) -> int:
        if of not in self._records:
            # Known before its fields are looked at: a recursive record finds itself here.
            self._records[of] = number = self.add(kind="record")
            self._writes[number]["fields"] = [self._of_field(field) for field in of.fields]
        return self._records[of]

    def _of_field(self, field: WriteField[AvroType]) -> _Part:
        node = field.field.type.node
        missing = _body(node, field.missing, field)
        if field.value is None:
            return _field(self.add(kind="null"), key=None, missing=missing)
        return _field(self.value(field.value), key=field.key, missing=missing, null=_body(node, field.null, field))

    def _scalar(self, node: AvroNode, logical: str | None) -> _Part:
        kind = node.kind
        if self._times == "integers" and kind in ("int", "long"):
            return {"kind": kind}
        match TIMES.get((kind, logical or "")):
            case ("date", _):
                return {"kind": "date"}
            case (word, per_second):
                timestamp = {"kind": "timestamp", "is_local": word == "local_timestamp"}
                kind_part: _Part = {"kind": "time"} if word == "time" else timestamp
                return kind_part | {"per_second": per_second, "is_cut": self._cut_times}
        match kind:
            case "bytes" | "fixed" if logical == "decimal":
                precision = node.precision or NO_PRECISION
                if precision > MOST_DIGITS or (kind == "fixed" and not node.size):
                    raise NotTakenError
                return {
                    "kind": "decimal",
                    "size": node.size,
                    "precision": precision,
                    "scale": node.scale,
                    "is_fastavros": self._is_fastavros,
                }
            case "fixed":
                return {"kind": kind, "size": node.size}
            case "enum":
                return {"kind": kind, "symbols": list(node.symbols)}
            case _:
                return {"kind": kind}


def _null_of(union: AvroNode) -> int | None:
    return next((number for number, branch in enumerate(union.branches) if branch.kind == "null"), None)


def _field(value: int, *, key: str | None, missing: list[int] | None = None, null: list[int] | None = None) -> _Part:
    return {"key": key, "value": value, "missing": missing, "null": null}


def _body(node: AvroNode, constant: Constant | None, field: WriteField[AvroType]) -> list[int] | None:
    value = tagged(constant, field.field)
    if value is MISSING:
        return None
    try:
        return list(body_of(node, value))
    except Exception:  # noqa: BLE001 - it does not fit its type; the row that needs it gets the error
        return None
