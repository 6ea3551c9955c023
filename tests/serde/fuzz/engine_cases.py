"""What both engines are asked: a deserializer with payloads, a serializer with rows, by the routes that a caller has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, TypeAlias, TypeVar

import pyarrow as pa

from srfix.serde.arrow import from_arrow, to_arrow
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.bounds import PayloadBounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer, JsonSchemaDeserializer, SchemaDeserializer
from srfix.serde.errors import SrfixError
from srfix.serde.formats import avro
from srfix.serde.formats.avro import columns_from_avro
from srfix.serde.interface import Deserializer, SerdeContext, Serializer
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer
from srfix.serde.specs import WriteSpec
from tests.serde.fuzz.engine_hostile import spoilt
from tests.serde.fuzz.engine_schemas import Json, reader_of, writer_schema
from tests.serde.fuzz.engine_values import Schema, body, value
from tests.serde.fuzz.frames import Framed, GuidRegistry, framed
from tests.serde.fuzz.mutations import BINARY, JSON, mutated
from tests.serde.fuzz.topic import OTHERS

PAYLOADS_PER_CASE: Final = 20
_ATTEMPTS: Final = 20
_TOPIC: Final = "t"

_Case = TypeVar("_Case")
Outcomes: TypeAlias = list[Callable[[], object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Payloads, and how they are read."""

    make: Callable[[], Deserializer]
    columns: Columns | None
    sent: tuple[Framed, ...]
    """The payloads, with their headers."""
    about: str
    """Schemas and options, for who has to run it again."""
    bounds: PayloadBounds = field(default_factory=PayloadBounds)
    """What a payload may ask for."""

    @property
    def payloads(self) -> list[bytes | None]:
        """Without headers; with tombstones among them."""
        some: list[bytes | None] = [each.payload for each in self.sent]
        some[3:3] = [None]
        return [*some, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Rows, and how they are written."""

    make: Callable[[], Serializer]
    rows: tuple[object, ...]
    batches: tuple[pa.RecordBatch, ...]
    """Rows as Arrow has them."""
    about: str
    """Schema and options, for who has to run it again."""


# --- columns

_SCALARS: Final = tuple(ScalarType)
_CASES: Final[tuple[Callable[[str], str], ...]] = (str, str, str, str.upper, str.lower, str.title)


def _declared(random: Random, columns: Columns) -> Columns:
    """Some of them, in some order, some in other letter case or of another type."""
    kept = [column for column in columns if random.randrange(6)] or [*columns[:1]]
    if random.randrange(3) == 0:
        random.shuffle(kept)
    names: set[str] = set()
    made = []
    for column in kept:
        name = random.choice(_CASES)(column.name)
        if name not in names:
            names.add(name)
            made.append(Column(name, _declared_type(random, column.type)))
    return tuple(made)


def _declared_type(random: Random, type_: ColumnType) -> ColumnType:
    if random.randrange(40) == 0:
        others: tuple[ColumnType, ...] = (Array(type_), Struct((Column("A", type_),)), ScalarType.STRING)
        return random.choice(others)
    match type_:
        case Struct(fields):
            return Struct(_declared(random, fields) if fields else fields)
        case Array(items):
            return Array(_declared_type(random, items))
        case Map(values, keys):
            return Map(_declared_type(random, values), keys)
        case Decimal(precision, scale) if random.randrange(4) == 0:
            scale = max(0, min(scale + random.randint(-2, 2), 76))
            return Decimal(max(1, scale, min(precision + random.randint(-3, 3), 76)), scale)
    if random.randrange(5) == 0:
        scalars: tuple[ColumnType, ...] = (*_SCALARS, Decimal(12, 3))
        return random.choice(scalars)
    return type_


def _made(make: Callable[[Random], _Case], random: Random) -> _Case:
    """A case, of several attempts: Avro or Connect refuses a schema, or nobody could declare the columns."""
    for _ in range(_ATTEMPTS):
        with suppress(SrfixError):
            return make(random)
    raise AssertionError("no schema was made")


# --- reading


def reading_case(random: Random) -> Reading:
    """Payloads of two schemas that are versions of one another, whole and broken, and a deserializer of them."""
    return _made(_reading, random)


def _reading(random: Random) -> Reading:
    root = writer_schema(random)
    is_record = isinstance(root, dict) and root["type"] == "record"
    other = reader_of(random, root) if is_record else "long"
    registry = GuidRegistry()
    strangers = tuple(registry.seed(kind, text, schema_type=kind) for kind, text in OTHERS.items())
    written = []
    for number, schema in enumerate((root, other)):
        schema_id = registry.seed(f"own{number}", json.dumps(schema))
        bodies = [body(random, Schema(schema)) for _ in range(4)]
        written += [(schema_id, each) for each in (bodies if number == 0 else bodies[:1])]
    options, columns = _options(random, json.dumps(root), json.dumps(other) if is_record else None)
    kind = random.choice((AvroDeserializer, SchemaDeserializer))
    kind(ById(registry), columns=columns, **options)

    def make() -> Deserializer:
        return kind(ById(registry), columns=columns, **options)

    sent = []
    for _ in range(PAYLOADS_PER_CASE):
        schema_id, whole = random.choice(written)
        broken = whole if random.randrange(5) < 2 else mutated(random, whole, BINARY)
        sent.append(framed(random, broken, schema_id, strangers))
    bounds = _bounds(random) if random.randrange(4) == 0 else PayloadBounds()
    about = f"{json.dumps(root)}\nbeside {json.dumps(other)}\ncolumns {columns}, {options}, {bounds}"
    return Reading(make=make, columns=columns, sent=tuple(sent), about=about, bounds=bounds)


def _bounds(random: Random) -> PayloadBounds:
    """Bounds that many payloads are near to."""
    return PayloadBounds(
        values=random.choice((0, 5, 20, 60)),
        values_per_byte=random.choice((0, 1, 2, 8)),
        empty_items=random.choice((0, 1, 5)),
        levels=random.choice((1, 2, 3, 4, 6, 9)),
        decimal_bytes=random.choice((1, 8, 32, 40)),
        batch_bytes=random.choice((1, 60, 500)),
        plans=random.choice((1, 2, 1_000)),
    )


def json_case(random: Random) -> Reading:
    """Documents of columns under their JSON Schema, or under none."""
    return _made(_json, random)


def _json(random: Random) -> Reading:
    columns = columns_from_avro(json.dumps(writer_schema(random)), names="keep")
    schema = Schema(json.loads(avro.internal_schema(WriteSpec(columns=columns))))
    registry = GuidRegistry()
    serialize = JsonSchemaSerializer(registry, columns)
    bodies = []
    for _ in range(4):
        with suppress(SrfixError):
            bodies.append((serialize(value(random, schema), _TOPIC) or b"")[5:])
    schema_id = next(iter(registry.schemas), None) or registry.seed("own", '{"type":"object"}', schema_type="JSON")
    stranger = registry.seed("AVRO", OTHERS["AVRO"])
    declared = _declared(random, columns) if random.randrange(3) else columns
    rule = random.choice(tuple(CaseRule))
    times: Times = "integers" if random.randrange(3) == 0 else "datetimes"
    is_framed = random.randrange(3) > 0

    def make() -> Deserializer:
        if is_framed:
            return JsonSchemaDeserializer(ById(registry), columns=declared, case_rule=rule, times=times)
        return JsonDeserializer(declared, case_rule=rule, times=times)

    make()
    sent = []
    for _ in range(PAYLOADS_PER_CASE):
        whole = random.choice(bodies or [b"{}"])
        broken = whole if random.randrange(5) < 2 else mutated(random, whole, JSON)
        sent.append(framed(random, broken, schema_id, (stranger,)) if is_framed else Framed(broken))
    return Reading(
        make=make, columns=declared, sent=tuple(sent), about=f"{columns}\nas {declared}, {rule}, {times}, {is_framed}"
    )


def _options(random: Random, text: str, other: str | None) -> tuple[dict[str, Any], Columns | None]:
    options: dict[str, Any] = {"case_rule": random.choice((CaseRule.UNIQUE, CaseRule.UNIQUE, *CaseRule))}
    if random.randrange(6) == 0:
        options["times"] = "integers"
    if random.randrange(10) == 0:
        options["strict"] = True
    has_reader = other is not None and random.randrange(3) == 0
    if has_reader and options["case_rule"] in (CaseRule.UNIQUE, CaseRule.EXACT):
        options["reader_schema"] = other
    if random.randrange(3) == 0:
        return options, None
    names: Literal["keep", "upper"] = "upper" if random.randrange(3) == 0 else "keep"
    columns = columns_from_avro(other if "reader_schema" in options and other else text, names=names)
    if random.randrange(4):
        columns = _declared(random, columns)
    if random.randrange(3) == 0:
        columns = (*columns, Column("NOBODYS", random.choice(_SCALARS)))
    if random.randrange(12) == 0 and len(columns) == 1:
        options["wrap"] = False
    return options, columns


def _one_by_one(reading: Reading, deserialize: Deserializer) -> Outcomes:
    return [
        lambda each=each: deserialize(each.payload, SerdeContext(_TOPIC, headers=each.headers))  # type: ignore[misc]
        for each in reading.sent
    ]


def _many(payloads: Any, deserialize: Deserializer, ctx: Any = _TOPIC) -> Callable[[], object]:
    return lambda: list(deserialize_many(payloads, ctx, deserialize, on_error="quarantine"))


def _all_many(reading: Reading, deserialize: Deserializer) -> Outcomes:
    contexts = [SerdeContext(_TOPIC, headers=each.headers) for each in reading.sent]
    return [
        _many(reading.payloads, deserialize),
        _many(pa.array(reading.payloads, pa.binary()), deserialize),
        _many([each.payload for each in reading.sent], deserialize, contexts),
    ]


def _chunked(payloads: Sequence[bytes | None]) -> pa.ChunkedArray:
    return pa.chunked_array(
        [pa.array(payloads[:7], pa.binary()), pa.array([], pa.binary()), pa.array(payloads[7:], pa.binary())]
    )


def _sliced(payloads: Sequence[bytes | None]) -> pa.Array:
    return pa.array([b"before", None, *payloads, b"behind"], pa.large_binary()).slice(2, len(payloads))


_FORMS: Final[Mapping[str, Callable[[Sequence[bytes | None]], Any]]] = {
    "list": list,
    "BinaryArray": lambda payloads: pa.array(payloads, pa.binary()),
    "LargeBinaryArray, sliced": _sliced,
    "BinaryViewArray": lambda payloads: pa.array(payloads, pa.binary_view()),
    "ChunkedArray": _chunked,
    "DictionaryArray": lambda payloads: pa.array(payloads, pa.binary()).dictionary_encode(),
}
"""What payloads come in."""


def _batch(payloads: Any, deserialize: Deserializer, on_error: Any) -> Callable[[], object]:
    def run() -> object:
        batch = to_arrow(payloads, _TOPIC, deserialize, on_error=on_error)
        batch.validate(full=True)
        return [str(batch.schema), *batch.to_pylist()]

    return run


def _arrow(reading: Reading, deserialize: Deserializer) -> Outcomes:
    if reading.columns is None:
        return []
    batches = [_batch(form(reading.payloads), deserialize, "quarantine") for form in _FORMS.values()]
    return [*batches, _batch(reading.payloads, deserialize, "fail")]


READ_ROUTES: Final[Mapping[str, Callable[[Reading, Deserializer], Outcomes]]] = {
    "one record": _one_by_one,
    "deserialize_many": _all_many,
    "to_arrow": _arrow,
}
"""How payloads are read. A route that is added here is compared for every case."""


# --- writing


def writing_case(random: Random) -> Writing:
    """Rows that fit a schema, and such as do not, with a serializer."""
    return _made(_writing, random)


def _writing(random: Random) -> Writing:
    root, columns = writer_schema(random), None
    options: dict[str, Any] = {}
    if random.randrange(4) == 0:
        options["times"] = "integers"
    if random.randrange(3) == 0:
        options["cut_times"] = True
    registry = GuidRegistry()
    text = json.dumps(root)
    if random.randrange(2):
        columns = columns_from_avro(text, names="keep")
        options["case_rule"] = random.choice((CaseRule.UNIQUE, *CaseRule))
        written = json.loads(avro.internal_schema(WriteSpec(columns=columns)))
        match random.randrange(5):
            case 0:  # a schema that exists, which the columns are written under
                options |= {"schema_id": registry.seed("t-value", text)}
                written = root
        AvroSerializer(registry, columns, **options)

        def make() -> Serializer:
            return AvroSerializer(registry, columns, **options)
    else:
        written = root
        AvroSerializer.for_schema(registry, text, **options)

        def make() -> Serializer:
            return AvroSerializer.for_schema(registry, text, **options)

    schema = Schema(written)
    whole = [value(random, schema) for _ in range(6)]
    rows = [
        row if random.randrange(5) < 2 else spoilt(random, row) for row in random.choices(whole, k=PAYLOADS_PER_CASE)
    ]
    batches = tuple(_record_batches(columns, root, random)) if columns is not None else ()
    return Writing(make=make, rows=tuple(rows), batches=batches, about=f"{text}\ncolumns {columns}, {options}")


def _record_batches(columns: Columns, root: Json, random: Random) -> Iterable[pa.RecordBatch]:
    """What is read of payloads, to be written again: whole, sliced, and as Arrow's other types have it."""
    registry = GuidRegistry()
    schema_id = registry.seed("own", json.dumps(root))
    payloads = [b"\0" + schema_id.to_bytes(4, "big") + body(random, Schema(root)) for _ in range(8)]
    try:
        batch = to_arrow(payloads, _TOPIC, AvroDeserializer(ById(registry), columns=columns), on_error="quarantine")
    except SrfixError:
        return  # Arrow cannot hold the columns
    good = batch.select(list(range(len(columns))))
    yield good
    yield good.slice(3, 4)
    with_other_types = [_other_type(random, field.type) for field in good.schema]
    try:
        yield good.cast(
            pa.schema([field.with_type(type_) for field, type_ in zip(good.schema, with_other_types, strict=True)])
        )
    except pa.ArrowInvalid:
        return


def _other_type(random: Random, type_: pa.DataType) -> pa.DataType:
    others = {
        pa.string(): (pa.large_string(), pa.string_view()),
        pa.binary(): (pa.large_binary(), pa.binary_view()),
        pa.int32(): (pa.int64(), pa.float64(), pa.decimal128(20, 2)),
        pa.int64(): (pa.decimal128(25, 0), pa.timestamp("ms")),
        pa.date32(): (pa.date64(), pa.timestamp("us")),
        pa.timestamp("us", "UTC"): (pa.timestamp("ns", "UTC"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us")),
        pa.time64("us"): (pa.time64("ns"),),
    }
    return random.choice((type_, *others.get(type_, ())))


def _row_by_row(writing: Writing, serialize: Serializer) -> Outcomes:
    return [lambda row=row: serialize(row, SerdeContext(_TOPIC)) for row in writing.rows]  # type: ignore[misc]


def _encoded(batch: pa.RecordBatch, serialize: Serializer, on_error: Any) -> Callable[[], object]:
    def run() -> object:
        rows = batch.to_struct_array()
        mask = [number % 5 == 4 for number in range(len(rows))]
        written = from_arrow(rows, serialize, _TOPIC, tombstones=mask, on_error=on_error)
        if isinstance(written, pa.Array):
            written.validate(full=True)
            return written.to_pylist()
        written.payloads.validate(full=True)
        return [written.payloads.to_pylist(), written.positions.to_pylist(), list(written.bad)]

    return run


def _of_arrow(writing: Writing, serialize: Serializer) -> Outcomes:
    return [_encoded(batch, serialize, on_error) for batch in writing.batches for on_error in ("quarantine", "fail")]


WRITE_ROUTES: Final[Mapping[str, Callable[[Writing, Serializer], Outcomes]]] = {
    "one row": _row_by_row,
    "from_arrow": _of_arrow,
}
"""How rows are written. A route that is added here is compared for every case."""
