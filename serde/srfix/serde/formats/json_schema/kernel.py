"""Describes a projection of a JSON Schema for the native kernel (`serde/kernel/src/json/description.rs`)."""

from __future__ import annotations

from srfix.serde.columns.types import Decimal
from srfix.serde.connect.coercions import Coercion
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, ConnectType
from srfix.serde.engine import Decode
from srfix.serde.formats.avro.read.kernel import becomes
from srfix.serde.formats.json import Description, NativePart, native_decoder, number
from srfix.serde.formats.json_schema.connect import JsonType
from srfix.serde.native import MOST_DIGITS, NotTakenError
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar


def native_connect_decoder(projection: Projection[JsonType], otherwise: Decode) -> Decode:
    """Like `connect_decoder`, which has made `otherwise` from the same projection."""

    def describe(description: Description) -> bytes:
        walk = _Walk(description)
        root = walk.part(projection.root)
        if projection.unfed is not None:
            raise NotTakenError
        if not projection.is_wrapped:
            return description.text(root, projection.columns[0].name)
        if not isinstance(projection.root.how, Fields):
            raise NotTakenError
        # By the caller's rules, null is not a row.
        return description.text({**root, "takes_null": False}, None)

    return native_decoder(describe, otherwise)


class _Walk:
    def __init__(self, description: Description) -> None:
        self._description = description
        self._add = description.add

    def part(self, value: Projected[JsonType], *, is_repeated: bool = False) -> NativePart:
        if isinstance(value.how, Refused):
            return {"read": self._add(kind="refused"), "takes_null": False}
        # A default that replaces null is rare.
        takes_null = value.writer.is_nullable and value.default is None
        return {"read": self._read(value, is_repeated=is_repeated), "takes_null": takes_null}

    def _read(self, value: Projected[JsonType], *, is_repeated: bool) -> int:
        match value.how:
            case Fields():
                if value.writer.is_union:
                    raise NotTakenError
                return self._object(value.how, is_repeated=is_repeated)
            case Items(items):
                return self._add(kind="list", items=self.part(items, is_repeated=True))
            case Entries(keys, values):
                return self._entries(keys, values)
            case Scalar():
                return self._add(**_scalar(value.writer, value.how))
            case Refused():
                raise AssertionError(value.path)

    def _object(self, of: Fields[JsonType], *, is_repeated: bool) -> int:
        targets = {target.column.name: target for target in of.targets}
        keys = {target.field.name for target in of.targets}
        if not len(of.targets) == len(targets) == len(keys):
            raise NotTakenError  # a column that several properties feed, or a property that feeds several
        columns: list[NativePart] = []
        for column in of.columns:
            if column.name not in targets:
                part, may_lack = {"read": self._add(kind="refused"), "takes_null": False}, True
            else:
                value = targets[column.name].value
                part = self.part(value, is_repeated=is_repeated)
                # A default also replaces an absent property, and a refused type is refused for any value.
                may_lack = value.default is None and not isinstance(value.how, Refused)
            columns.append({"name": column.name, "part": part, "may_lack": may_lack})
        numbers = {column.name: place for place, column in enumerate(of.columns)}
        return self._add(
            kind="object",
            columns=columns,
            keys=[[target.field.name, numbers[name]] for name, target in targets.items()],
            least=0,
            price=self._description.price(of.columns, is_repeated=is_repeated),
        )

    def _entries(self, keys: Projected[JsonType], values: Projected[JsonType]) -> int:
        how = keys.how
        is_text = isinstance(how, Scalar) and how.connect is ConnectType.STRING and how.coercion is Coercion.SAME
        if not is_text or keys.default is not None:
            raise NotTakenError
        kind = "entries" if keys.writer.is_nullable else "map"
        return self._add(kind=kind, values=self.part(values, is_repeated=True))


def _scalar(writer: JsonType, scalar: Scalar) -> NativePart:
    """The same conversions as in `formats.json_schema.leaves`."""
    if scalar.refusal is not None:
        return {"kind": "refused"}
    column, is_same = scalar.type, scalar.coercion is Coercion.SAME
    if isinstance(column, Decimal):
        if writer.name != DECIMAL_NAME or column.precision > MOST_DIGITS:
            raise NotTakenError
        return {"kind": "decimal", "precision": column.precision, "scale": column.scale, "of_text": False}
    match scalar.connect:
        case ConnectType.BOOLEAN:
            return {"kind": "boolean", "as_text": scalar.coercion is Coercion.TEXT}
        case ConnectType.STRING if is_same:
            return {"kind": "string", "of_scalars": False}
        case ConnectType.BYTES if is_same:
            return {"kind": "bytes"}
        case ConnectType.FLOAT32 | ConnectType.FLOAT64 if is_same:
            is_narrow = scalar.connect is ConnectType.FLOAT32
            return {"kind": "double", "is_narrow": is_narrow, "has_negative_zero": True}
        case ConnectType.INT8 | ConnectType.INT16 | ConnectType.INT32 | ConnectType.INT64:
            bits = scalar.connect.bits
            if writer.name in (DATE_NAME, TIME_NAME) and bits != 32:
                raise NotTakenError
            is_time = scalar.name == TIME_NAME and scalar.connect is ConnectType.INT32
            return number(becomes(scalar), bits=bits, within_a_day=is_time)
    raise NotTakenError  # for example, Java's text of a fraction
