"""Random writer schemas that feed given columns in every way that the jvm engine takes, and random values of them."""

from __future__ import annotations

import io
import random
from typing import cast

import fastavro

from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.wire import frame_id
from tests.serde.spark.jvm.plans import Json, array, entries, enum, fixed, logical, record

__all__ = ["Writers", "payload_of"]

_DAY_MS = 86_400_000
_DAYS = (-719_162, 2_932_896)
# The years 2 to 9998: PySpark itself cannot collect the very first and last days.
_MILLIS = (-62_104_060_800_000, 253_370_764_799_999)
_TEXTS = ["", "a", "Ünïcode €", "𝄞 clef", "quote\"'\\", "x" * 70, "null", "\u0000"]


class Writers:
    """Makes them, of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def schema(self, columns: Columns) -> Json:
        """A record whose fields feed most columns, in any order and any letters, with others between."""
        return self._record(columns)

    def value(self, schema: Json) -> object:
        """A value, as fastavro writes it where it knows of no logical types."""
        pick = self._random
        if isinstance(schema, list):
            return self.value(pick.choice(schema))
        if isinstance(schema, str):
            return self._scalar(schema, None)
        assert isinstance(schema, dict)
        match schema["type"]:
            case "record":
                fields = cast("list[dict[str, Json]]", schema["fields"])
                return {str(part["name"]): self.value(part["type"]) for part in fields}
            case "array":
                items = [self.value(schema["items"]) for _ in range(pick.randrange(4))]
                is_entry = isinstance(schema["items"], dict) and "connect.internal.type" in schema["items"]
                # A null key is no key of Spark's.
                return [item for item in items if not is_entry or cast("dict[str, object]", item)["key"] is not None]
            case "map":
                return {pick.choice(_TEXTS): self.value(schema["values"]) for _ in range(pick.randrange(4))}
            case "enum":
                return pick.choice(cast("list[str]", schema["symbols"]))
            case "fixed":
                return self._bytes(schema, cast("int", schema["size"]))
            case kind:
                return self._scalar(str(kind), schema)

    def _scalar(self, kind: str, schema: dict[str, Json] | None) -> object:
        pick = self._random
        bounds = None if schema is None else schema.get("srfix-test-bounds")
        if isinstance(bounds, list):
            low, high = cast("list[int]", bounds)
            return pick.choice((low, high, 0, pick.randint(low, high))) if pick.random() < 0.3 else min(high, 1_000_000)
        match kind:
            case "null":
                return None
            case "boolean":
                return pick.random() < 0.5
            case "int":
                return pick.choice((0, 1, -1, -(2**31), 2**31 - 1, pick.randint(-(2**31), 2**31 - 1)))
            case "long":
                return pick.choice((0, -1, -(2**63), 2**63 - 1, pick.randint(-(2**40), 2**40)))
            case "float":
                return pick.choice((0.0, -0.0, 0.1, 1.5e38, float("inf"), float("nan"), -1e-45))
            case "double":
                return pick.choice((0.0, -0.0, 0.1, 1e308, 5e-324, float("-inf"), float("nan"), pick.random()))
            case "bytes":
                return self._bytes(schema or {}, pick.randrange(6))
            case _:
                return pick.choice(_TEXTS)

    def _bytes(self, schema: dict[str, Json], size: int) -> bytes:
        pick = self._random
        if schema.get("logicalType") != "decimal":
            return pick.randbytes(size)
        digits = pick.choice((0, 1, 2, 2)) if pick.random() < 0.95 else pick.choice((12, 25))
        number = pick.choice((1, -1)) * pick.randrange(10**digits)
        if schema["type"] == "fixed":
            bound = 1 << (8 * size - 1)
            return max(-bound, min(bound - 1, number)).to_bytes(size, "big", signed=True)
        return number.to_bytes(number.bit_length() // 8 + 1 + pick.randrange(2), "big", signed=True)

    def _name(self) -> str:
        self._count += 1
        return f"N{self._count}"

    def _record(self, columns: Columns) -> Json:
        pick = self._random
        fields: list[Json] = []
        for column in columns:
            if pick.random() < 0.1:
                continue
            letters = pick.choice((column.name, column.name.lower(), column.name.title()))
            fields.append({"name": letters, "type": self._nullable(self._type(column))})
        fields += ({"name": f"other_{number}", "type": self._other()} for number in range(pick.randrange(3)))
        pick.shuffle(fields)
        return {"type": "record", "name": self._name(), "fields": fields}

    def _nullable(self, schema: Json) -> Json:
        choices: list[Json] = [schema, schema, ["null", schema], [schema, "null"], [schema]]
        return self._random.choice(choices)

    def _other(self) -> Json:
        """A field that no column wants: also of types that none could."""
        return self._random.choice(
            [
                "string",
                ["null", "int", "string", array("long")],
                {"type": "map", "values": array("double")},
                record(self._name(), x=fixed(3, self._name())),
                enum("A", "B", name=self._name()),
                logical("bytes", "decimal", precision=4, scale=3),
            ]
        )

    def _type(self, column: Column) -> Json:
        return self._of(column.type)

    def _of(self, type_: ColumnType) -> Json:
        pick = self._random
        match type_:
            case Array(items):
                return array(self._nullable(self._of(items)))
            case Map(values):
                if pick.random() < 0.5:
                    return {"type": "map", "values": self._nullable(self._of(values))}
                return entries(self._nullable("string"), self._nullable(self._of(values)), self._name())
            case Struct(fields):
                return self._record(fields)
            case Decimal(precision, scale):
                return self._decimal(precision, scale)
            case ScalarType():
                return pick.choice(self._scalars(type_))

    def _decimal(self, precision: int, scale: int) -> Json:
        scale = self._random.randint(0, scale)
        head: Json = "bytes" if precision > 18 or self._random.random() < 0.6 else fixed(8, self._name())
        return logical(head, "decimal", precision=precision, scale=scale)

    def _scalars(self, type_: ScalarType) -> list[Json]:
        def bounded(kind: str, bounds: tuple[int, int], logical_type: str | None = None) -> Json:
            made: dict[str, Json] = {"type": kind, "srfix-test-bounds": list(bounds)}
            return made if logical_type is None else {**made, "logicalType": logical_type}

        time = bounded("int", (-1, _DAY_MS), "time-millis")
        match type_:
            case ScalarType.BOOLEAN:
                return ["boolean"]
            case ScalarType.INTEGER:
                return ["int", logical("int", "date"), time]
            case ScalarType.BIGINT:
                return ["int", "long", logical("long", "timestamp-micros"), logical("long", "timestamp-millis"), time]
            case ScalarType.DOUBLE:
                return ["float", "double"]
            case ScalarType.STRING:
                symbols = enum("Red", "GREEN", name=self._name())
                return ["string", "int", "long", "boolean", symbols, logical("string", "uuid"), time]
            case ScalarType.BYTES:
                return ["bytes", fixed(5, self._name())]
            case ScalarType.DATE:
                return [bounded("int", _DAYS), bounded("int", _DAYS, "date")]
            case ScalarType.TIMESTAMP:
                micros = bounded("long", (_MILLIS[0] * 1000, _MILLIS[1] * 1000 + 999), "timestamp-micros")
                return ["int", *(bounded("long", _MILLIS, kind) for kind in (None, "timestamp-millis")), micros]
            case _:
                raise AssertionError(type_)


def payload_of(schema_id: int, schema: Json, value: object) -> bytes:
    """A framed payload; logical types are left out of the way."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(cast("dict[str, object]", _plain(schema))), value)
    return frame_id(schema_id, out.getvalue())


def _plain(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {name: _plain(part) for name, part in schema.items() if name != "logicalType"}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema
