"""Payloads that were made to take more than they are worth, for every format, read by every engine in a process with limits.

    python -m tests.serde.fuzz.hostile FORMAT COUNT SEED ENGINE…

reads COUNT payloads by each of the engines, and prints a line of JSON for each engine: how many were read, and what came
of them. The address space is limited, and the CPU time of each payload. Whatever is accepted must hold no more values than
`PayloadBounds.budget` grants. Most payloads are read under small bounds, which small payloads exceed as well; one in
2,500 is near a megabyte, and read under the bounds that are in force by default.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Protocol, cast

from srfix.serde.arrow.decode import ValueWise, to_arrow
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.bounds import PayloadBounds, bound_payloads, payload_bounds
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import (
    AvroDeserializer,
    DelimitedDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
    WindowedDeserializer,
)
from srfix.serde.formats.table import Format
from srfix.serde.interface import Deserializer, SerdeContext
from srfix.serde.json_values import to_json
from srfix.serde.resolve.policies import ById
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.specs import ReadSpec
from srfix.serde.subjects.names import Role
from srfix.serde.windowed import Window, WindowKind, join
from srfix.serde.wire import frame_id
from tests.serde.fakes import MemoryRegistry
from tests.serde.fuzz.harness import Fuzz
from tests.serde.fuzz.hostile_payloads import Case, cases

_ADDRESS_SPACE: Final = 2 << 30
"""Of which the libraries take a half."""
_CPU_S: Final = 5.0
_TOPIC: Final = SerdeContext("t")
_SMALL: Final = PayloadBounds(values=2_000, empty_items=1_000, decimal_bytes=256, shapes=16, shape_bytes=16_384)
_BATCH: Final = 20
_BIG_EVERY: Final = 2_500
_BYTES_PER_VALUE: Final = 64
"""Of an Arrow array, at the most."""

_LOOKED_INTO: Final = 20_000_000
"""Bytes of a batch whose values are counted one by one."""
_ABOUT_A_ROW: Final = 30
"""Values that a batch has besides the row: its reason, its payload."""


class _Arrow(Protocol):
    @property
    def nbytes(self) -> int: ...

    def to_pylist(self) -> list[object]: ...


def count_values(value: object) -> int:
    """As `PayloadBounds` counts."""
    total, stack = 0, [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            total += 4
            stack.extend(part.values())
        elif isinstance(part, list):
            total += 4
            stack.extend(part)
        elif isinstance(part, tuple):  # an entry of Arrow's maps
            stack.extend(part)
        else:
            total += 1
    return total


# Engines -------------------------------------------------------------------------------------------------------------


class _Reader:
    """A case's schema, registered, and what reads it."""

    def __init__(self, format_: str, case: Case) -> None:
        self.format = format_
        self.columns = None if case.columns is None else parse_columns(case.columns)
        self.registry = MemoryRegistry()
        self.schema_id = 0
        if case.schema is not None:
            kind = "AVRO" if format_ == "AVRO" else "JSON"
            self.schema_id = self.registry.seed("t-value", case.schema, schema_type=kind)

    def payload(self, body: bytes) -> bytes:
        return frame_id(self.schema_id, body) if self.schema_id else body

    def deserializer(self) -> Deserializer:
        match self.format:
            case "AVRO":
                return AvroDeserializer(ById(self.registry), columns=self.columns)
            case "JSON_SR":
                return JsonSchemaDeserializer(ById(self.registry), columns=self.columns)
            case "JSON":
                return JsonDeserializer(self.columns)
        assert self.columns is not None
        if self.format == "DELIMITED":
            return DelimitedDeserializer(self.columns)
        return KafkaDeserializer(self.columns)

    def most_values(self, payload: bytes) -> int:
        width = count_values(None if self.columns is None else [None] * len(self.columns))
        # What JSON makes of its own bytes, and of narrow STRUCTs, is granted by its bytes; it is not counted as well.
        own = 0 if self.format == "AVRO" else 8 * len(payload)
        return payload_bounds().budget(len(payload)) + own + width


_Engine = Callable[[Fuzz, _Reader, Sequence[bytes]], None]


def _rows(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    for payload in payloads:
        row, _ = fuzz.read(lambda payload=payload: read(payload, _TOPIC), about=lambda: "")  # type: ignore[misc]
        made = count_values(row)
        assert made <= reader.most_values(payload), f"{made:,} values of {len(payload)} bytes"


def _shown(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    for payload in payloads:
        fuzz.read(lambda payload=payload: json.dumps(to_json(read(payload, _TOPIC))), about=lambda: "")  # type: ignore[misc]


def _windowed(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = WindowedDeserializer(reader.deserializer(), WindowKind.TIME)
    for payload in payloads:
        key = join(payload, Window(1), WindowKind.TIME) if len(payload) % 7 else payload
        fuzz.read(lambda key=key: read(key, _TOPIC), about=lambda: "")  # type: ignore[misc]


def _quarantine(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = (
        SchemaDeserializer(ById(reader.registry), columns=reader.columns) if reader.schema_id else reader.deserializer()
    )

    def run() -> object:
        return sum(1 for _ in deserialize_many(payloads, _TOPIC, read, on_error="quarantine"))

    found, refusal = fuzz.read(run, about=lambda: "")
    assert refusal is None
    assert found == len(payloads)
    fuzz.payloads += len(payloads) - 1


def _arrow(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    batch, refusal = fuzz.read(
        lambda: to_arrow(payloads, _TOPIC, read, on_error="quarantine", engine=ValueWise), about=lambda: ""
    )
    assert refusal is None, refusal
    _check_size(fuzz, reader, payloads, cast("_Arrow", batch))


def _worker(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    import pyarrow as pa

    assert reader.columns is not None
    plan = ReadPlan(
        topic="t",
        role=Role.VALUE,
        format=Format[reader.format],
        spec=ReadSpec(columns=reader.columns, wrap=reader.format != "KAFKA"),
        policy=ById(reader.registry) if reader.schema_id else None,
    )
    decode = PlanDecoder(plan)
    rows, refusal = fuzz.read(lambda: decode(pa.array(payloads, pa.binary())), about=lambda: "")
    assert refusal is None, refusal
    _check_size(fuzz, reader, payloads, cast("_Arrow", rows))


def _check_size(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes], made: _Arrow) -> None:
    fuzz.payloads += len(payloads) - 1
    size = made.nbytes
    most = sum(map(reader.most_values, payloads)) * _BYTES_PER_VALUE + 100_000
    assert size <= most, f"{size:,} bytes of Arrow, of {sum(map(len, payloads))} bytes"
    if size > _LOOKED_INTO:
        return
    for payload, row in zip(payloads, made.to_pylist(), strict=True):
        values = count_values(row)
        assert values <= reader.most_values(payload) + _ABOUT_A_ROW, f"{values:,} values of {len(payload)} bytes"


_Engines = dict[str, tuple[_Engine, bool]]


def _into_columns(**more: _Engine) -> _Engines:
    return {name: (engine, True) for name, engine in {**more, "arrow": _arrow, "worker": _worker}.items()}


_AS_WRITTEN: Final[_Engines] = {"rows": (_rows, False), "shown": (_shown, False)}
_OF_COLUMNS: Final[_Engines] = {"rows of columns": (_rows, True)}
ENGINES: Final[dict[str, _Engines]] = {
    "AVRO": {**_AS_WRITTEN, "quarantine": (_quarantine, False), **_OF_COLUMNS, **_into_columns(windowed=_windowed)},
    "JSON": {**_AS_WRITTEN, **_OF_COLUMNS, **_into_columns()},
    "JSON_SR": {"rows": (_rows, False), **_OF_COLUMNS, **_into_columns(quarantine=_quarantine)},
    "KAFKA": _into_columns(rows=_rows, windowed=_windowed),
    "DELIMITED": _into_columns(rows=_rows, windowed=_windowed),
}
"""By format: what reads payloads, and whether into columns."""


def _run(format_: str, name: str, count: int, seed: int) -> dict[str, object]:
    engine, with_columns = ENGINES[format_][name]
    random = Random(f"{format_} {name} {seed}")
    fuzz = Fuzz(budget_s=_CPU_S)
    kinds = cases(format_, random, with_columns=with_columns)
    number = 0
    while fuzz.payloads < count:
        number += 1
        is_big = number % (_BIG_EVERY // _BATCH) == 0
        bound_payloads(PayloadBounds() if is_big else _SMALL)
        case = next(kinds)
        reader = _Reader(format_, case)
        size = random.choice([300_000, 900_000]) if is_big else random.choice([1, 10, 50, 400, 2_500])
        bodies = [case.body(random, size) for _ in range(1 if is_big else _BATCH)]
        try:
            engine(fuzz, reader, [reader.payload(body) for body in bodies])
        except BaseException as error:
            kind = f"{format_}, {name}, seed {seed}, kind {number}"
            error.add_note(f"{kind}: {case!r:.2000}, {[body[:80] for body in bodies]!r:.3000}")
            raise
    return {"format": format_, "engine": name, "payloads": fuzz.payloads, "outcomes": fuzz.outcomes}


def _main(format_: str, count: str, seed: str, *engines: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    for name in engines:
        print(json.dumps(_run(format_, name, int(count), int(seed))), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
