"""Describes a projection, or only a schema, for the native kernel (`serde/kernel/src/description.rs`). The Python
decoder beside it decides for every body that the kernel does not read, so rare types may be left out, and limits may be
stricter than necessary."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import chain
from typing import Any, Final, TypeAlias

from fastavro.read import LOGICAL_READERS

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import Decimal
from srfix.serde.connect.coercions import Coercion
from srfix.serde.connect.schema import DECIMAL_NAME, NARROW, TIME_NAME, ConnectType
from srfix.serde.engine import Decode
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.schema import TIMES, AvroNode, every_node
from srfix.serde.formats.avro.write.scalars import default_body
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.native import MOST_DIGITS, NotTakenError, kernel
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar, Target

_Part: TypeAlias = dict[str, Any]
_DECIMAL_BYTES: Final = 32
"""The most bytes of such a decimal."""
_LONGEST: Final = 2**31 - 1
"""The limit of a value's minimal number of bytes: no payload holds more."""


def left_to_python(describe: Callable[[Description], int], costs: Costs) -> str | None:
    """Why the kernel does not read a schema's rows; None if it does, whether or not it is installed."""
    if costs.safe_bytes < 0:
        return "the limits are lower than the cost of one value of the schema"
    description = Description(costs)
    try:
        description.text(describe(description))
    except NotTakenError as error:
        return str(error)
    return description.of_rows_alone()


def native_decoder(describe: Callable[[Description], int], costs: Costs, otherwise: Decode) -> Decode:
    """The kernel's decoder; `otherwise` if there is no kernel, or it lacks a type. `describe` adds the root."""
    native = kernel()
    if native is None or costs.safe_bytes < 0:
        return otherwise
    # Python counts values before it reads bytes, so it may call a short body beyond the limits instead of truncated.
    if sum(map(costs.least, every_node(costs.root))) > costs.bounds.budget(0):
        return otherwise
    description = Description(costs)
    try:
        text = description.text(describe(description))
    except NotTakenError:
        return otherwise
    decode: Decode = native.Decoder(text, otherwise).decode
    return decode


class Description:
    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._wires: list[_Part] = []
        self._wire_numbers: dict[AvroNode, int] = {}
        self._reads: list[_Part] = []
        self._verbatim: dict[AvroNode, int] = {}

    def text(self, root: int) -> bytes:
        safe_bytes = self._costs.safe_bytes
        return json.dumps(
            {
                "wires": self._wires,
                "reads": self._reads,
                "root": root,
                "wire_root": self._wire(self._costs.root),
                # Python also counts a value without parts as a level.
                "levels": max(min(self._costs.bounds.levels, 2_000) - 1, 0),
                "most_bytes": None if safe_bytes == math.inf else int(safe_bytes),
            }
        ).encode()

    def of_rows_alone(self) -> str | None:
        """A reason why the kernel can read into dicts but not into Arrow columns; None if it can do both."""
        # Only a record's fields, and the branches of a union that is a STRUCT, are dicts.
        parts = (read.get(name, ()) for read in self._reads for name in ("fields", "branches"))
        feeds = [part["feeds"] for part in chain.from_iterable(parts) if isinstance(part, dict)]
        is_apart = any(len(feed) > 1 or any(one["column"] is None for one in feed) for feed in feeds)
        return "one field feeds several columns" if is_apart else None

    def rows(self, projection: Projection[AvroType]) -> int:
        if projection.unfed is not None:
            raise NotTakenError("no field feeds any column")
        root = self._value(projection.root)
        if projection.is_wrapped:
            return root
        # The bytes of a record with one field are the field's bytes.
        field = {"wire": self._wire(projection.root.writer.node), "feeds": [{"read": root, "column": 0}]}
        return self._add(kind="record", columns=[projection.columns[0].name], fields=[field], absent=[])

    def as_written(self, node: AvroNode) -> int:
        if node in self._verbatim:
            return self._verbatim[node]
        self._verbatim[node] = number = self._add()
        self._reads[number].update(self._as_written(node))
        return number

    def _as_written(self, node: AvroNode) -> _Part:
        logical = node.logical if f"{node.kind}-{node.logical}" in LOGICAL_READERS else None
        match node.kind:
            case "record":
                fields = [
                    {"wire": self._wire(part.node), "feeds": [{"read": self.as_written(part.node), "column": number}]}
                    for number, part in enumerate(node.fields)
                ]
                columns = [part.name for part in node.fields]
                return {"kind": "record", "columns": columns, "fields": fields, "absent": []}
            case "union":
                return {"kind": "union", "branches": [self.as_written(branch) for branch in node.branches]}
            case "array" | "map":
                assert node.items is not None
                items, width = self.as_written(node.items), self._costs.item_width(node)
                kind, part = ("list", "items") if node.kind == "array" else ("map", "values")
                return {"kind": kind, part: items, "width": width}
            case "int" | "long":
                if logical is None:
                    return _number(node, becomes="same")
                if (node.kind, logical) not in TIMES:
                    raise NotTakenError(f"the writer's logical type {logical}")
                word, per_second = TIMES[node.kind, logical]
                return _number(node, becomes={word: per_second} if per_second else word)
            case "bytes" | "fixed" if logical == "decimal":
                return self._decimal(node, precision=0, to_scale=0)
            case "string" if logical == "uuid":
                return {"kind": "uuid"}
            case _ if logical is not None:
                raise NotTakenError(f"the writer's logical type {logical}")
            case _:
                return _plain(node)

    def _add(self, **part: object) -> int:
        self._reads.append(part)
        return len(self._reads) - 1

    def _wire(self, node: AvroNode) -> int:
        number = self._wire_numbers.get(node)
        if number is not None:
            return number
        self._wire_numbers[node] = number = len(self._wires)
        wire: _Part = {"kind": node.kind}
        self._wires.append(wire)
        match node.kind:
            case "record":
                wire["fields"] = [[part.name, self._wire(part.node)] for part in node.fields]
            case "union":
                wire["branches"] = [self._wire(branch) for branch in node.branches]
            case "array" | "map":
                assert node.items is not None
                wire["items" if node.kind == "array" else "values"] = self._wire(node.items)
                wire["width"] = self._costs.item_width(node)
            case "fixed":
                wire["size"] = node.size
            case "enum":
                wire["symbols"] = len(node.symbols)
        if max(wire.get("width", 0), wire.get("size", 0)) > _LONGEST:
            raise NotTakenError(f"a {node.kind} of the writer is larger than any payload")
        return number

    def _value(self, value: Projected[AvroType]) -> int:
        if value.default is not None:
            raise NotTakenError("a default from the property connect.default")
        writer = value.writer
        made = self._beside_null(value)
        if writer.value is writer.node:
            return made
        if isinstance(value.how, Refused) and not value.how.reads_null:
            return made
        null = self._add(kind="null") if writer.is_nullable else made
        branches = [made if part is writer.value else null for part in writer.node.branches]
        return self._add(kind="union", branches=branches)

    def _beside_null(self, value: Projected[AvroType]) -> int:
        node = value.writer.value
        match value.how:
            case Refused():
                return self._add(kind="null" if node.kind == "null" and value.how.reads_null else "refused")
            case Scalar():
                return self._add(**self._scalar(node, value.how))
            case Items(items):
                return self._add(kind="list", items=self._value(items), width=self._costs.item_width(node))
            case Entries():
                return self._entries(node, value.how)
            case Fields():
                return self._branches(value, value.how) if value.writer.is_union else self._record(value.how)

    def _entries(self, node: AvroNode, entries: Entries[Projected[AvroType]]) -> int:
        values, width = self._value(entries.values), self._costs.item_width(node)
        if node.kind == "map":
            return self._add(kind="map", values=values, width=width)
        assert node.items is not None
        if [part.name for part in node.items.fields] != ["key", "value"]:
            raise NotTakenError("map entries with other fields than key and value")
        return self._add(kind="entries", key=self._value(entries.keys), value=values, width=width)

    def _record(self, of: Fields[AvroType]) -> int:
        fed, numbers = of.by_field(), {column.name: number for number, column in enumerate(of.columns)}
        fields = [
            {"wire": self._wire(field.type.node), "feeds": [self._feed(one, numbers) for one in fed[field.number]]}
            for field in of.fields
        ]
        absent = [{"column": numbers[part.column.name], **self._default(part.default)} for part in of.absent]
        return self._add(kind="record", columns=list(numbers), fields=fields, absent=absent)

    def _feed(self, target: Target[AvroType], numbers: dict[str, int]) -> _Part:
        try:
            read = self._value(target.value)
        except NotTakenError as error:
            raise NotTakenError(f"{target.column.name}: {error}") from error
        return {"read": read, "column": numbers[target.column.name] if target.counts else None}

    def _default(self, default: Target[AvroType] | None) -> _Part:
        if default is None:
            return {"read": None, "body": []}
        try:
            body = default_body(default.field)
        except SchemaError as error:  # the Python decoder beside it raises this error, now or at a body
            raise NotTakenError("a default that does not fit its type") from error
        return {"read": self._value(default.value), "body": list(body)}

    def _branches(self, value: Projected[AvroType], of: Fields[AvroType]) -> int:
        fed, numbers = of.by_field(), {column.name: number for number, column in enumerate(of.columns)}
        branches: list[_Part | None] = [None] * len(value.writer.value.branches)
        if of.is_choice:
            null = self._add(kind="null")
            reads = [self._value(fed[number][0].value) if number in fed else null for number in range(len(branches))]
            return self._add(kind="union", branches=reads)
        refuses = False
        for field in of.fields:
            feeds = [self._feed(target, numbers) for target in fed[field.number]]
            refuses = refuses or any(self._reads[feed["read"]]["kind"] == "refused" for feed in feeds)
            if field.number in of.unresolved:
                feeds = [{"read": self._add(kind="refused"), "column": 0}]
            branches[field.number] = {"wire": self._wire(field.type.node), "feeds": feeds}
        if refuses:  # if one branch's type is refused by its column, no other branch is read either
            refused = {"read": self._add(kind="refused"), "column": None}
            branches = [None if branch is None else branch | {"feeds": [refused]} for branch in branches]
        return self._add(kind="branches", columns=list(numbers), branches=branches)

    def _scalar(self, node: AvroNode, scalar: Scalar) -> _Part:
        if scalar.refusal is not None:
            return {"kind": "refused"}
        column = scalar.type
        if node.read_as is not None:
            return _promoted(node, node.read_as, scalar)
        if isinstance(column, Decimal):
            if scalar.name != DECIMAL_NAME or column.precision > MOST_DIGITS:
                raise NotTakenError(
                    f"a decimal of the type {scalar.name or node.kind}, or of more than {MOST_DIGITS} digits"
                )
            return self._decimal(node, precision=column.precision, to_scale=column.scale)
        match node.kind:
            case "int" | "long":
                is_time = scalar.name == TIME_NAME and scalar.connect is ConnectType.INT32
                bits = scalar.connect.bits if scalar.connect in NARROW else 0
                return _number(node, becomes=becomes(scalar), bits=bits, within_a_day=is_time)
            case "boolean":
                return {"kind": "boolean", "as_text": scalar.coercion is Coercion.TEXT}
            case "float" | "double" if scalar.coercion is Coercion.TEXT:
                raise NotTakenError(
                    "the text of a floating-point number, because the kernel does not write digits as Java does"
                )
            case _:
                return _plain(node)

    def _decimal(self, node: AvroNode, *, precision: int, to_scale: int) -> _Part:
        is_small = node.kind == "bytes" or 0 < node.size <= _DECIMAL_BYTES
        if payload_bounds().decimal_bytes < _DECIMAL_BYTES or not is_small or abs(node.scale) > MOST_DIGITS:
            raise NotTakenError(f"a decimal of more than {_DECIMAL_BYTES} bytes or {MOST_DIGITS} digits")
        return {
            "kind": "decimal",
            "size": node.size if node.kind == "fixed" else 0,
            "scale": node.scale,
            "precision": precision,
            "to_scale": to_scale,
        }


def _promoted(node: AvroNode, reader: AvroNode, scalar: Scalar) -> _Part:
    """A type that a reader's schema promotes. A string and bytes look the same on the wire."""
    if scalar.coercion is not Coercion.SAME or isinstance(scalar.type, Decimal):
        raise NotTakenError(f"a {reader.kind} of the reader's schema that becomes {scalar.coercion.value}")
    if node.kind not in ("int", "long"):
        return {"kind": "float" if node.kind == "float" else reader.kind}
    return _number(node, becomes="same" if reader.kind == "long" else reader.kind)


def becomes(scalar: Scalar) -> object:
    match scalar.coercion:
        case Coercion.SAME | Coercion.TEXT | Coercion.DATE:
            return scalar.coercion.value
        case Coercion.TIME:
            return {"time": scalar.per_second}
        case Coercion.TIMESTAMP:
            return {"timestamp": scalar.per_second}
        case Coercion.TIMESTAMP_NTZ:
            return {"local_timestamp": scalar.per_second}
        case _:
            raise NotTakenError(f"a number that becomes {scalar.coercion.value}")


def _number(node: AvroNode, *, becomes: object, bits: int = 0, within_a_day: bool = False) -> _Part:
    return {
        "kind": "number",
        "is_long": node.kind == "long",
        "bits": bits,
        "within_a_day": within_a_day,
        "becomes": becomes,
    }


def _plain(node: AvroNode) -> _Part:
    match node.kind:
        case "null" | "float" | "double" | "bytes" | "string":
            return {"kind": node.kind}
        case "boolean":
            return {"kind": "boolean", "as_text": False}
        case "fixed":
            return {"kind": "fixed", "size": node.size}
        case "enum":
            return {"kind": "enum", "symbols": list(node.symbols)}
        case _:
            raise NotTakenError(f"the type {node.kind}")
