"""What a careful user would write for the topic of `spark_data` without srfix: the peers of its two engines.

Both keep bad rows with a reason, notice tombstones and unknown ids, and fold the letter case.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow as pa

from srfix.serde.wire import frame_id
from tests.bench.spark_data import DDL, SCHEMAS, lower_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NAMES: Final = [part.split()[0] for part in DDL.split(", ")]
_ARROW: Final = pa.schema(
    [
        ("ID", pa.int64()),
        ("NAME", pa.string()),
        ("CITY", pa.string()),
        ("NOTE", pa.string()),
        ("AGE", pa.int32()),
        ("SCORE", pa.float64()),
        ("ACTIVE", pa.bool_()),
        ("SEEN", pa.timestamp("us", "UTC")),
        ("WEIGHT", pa.float64()),
        ("TAGS", pa.list_(pa.string())),
        ("REASON", pa.string()),
    ]
)
_PREFIX: Final = 5


def _header(schema_id: int) -> bytes:
    return frame_id(schema_id, b"")


def _projection(text: str) -> str:
    """The writer's fields under its own spelling, in the columns' order, without what is not wanted; a sentinel last."""
    schema = json.loads(text)
    by_upper = {field["name"].upper(): field for field in schema["fields"]}
    missing = {"type": ["null", "double"], "default": None}
    fields = [by_upper.get(name) or {"name": name, **missing} for name in _NAMES]
    return json.dumps({**schema, "fields": [*fields, {"name": "__ok", "type": "boolean", "default": True}]})


def decode_with_from_avro(
    frame: DataFrame, schemas: Mapping[int, str] = SCHEMAS, *, with_casts: bool = True
) -> DataFrame:
    """Spark's `from_avro`, a branch for each id, behind a barrier; null where a row could not be read."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    header, body = F.substring("value", 1, _PREFIX), F.expr(f"substring(value, {_PREFIX + 1})")
    branches: Column | None = None
    for schema_id, text in schemas.items():
        options = {"mode": "PERMISSIVE", "avroSchema": _projection(text)}
        decoded = from_avro(body, text, options)
        if with_casts:
            decoded = decoded.cast(f"struct<{DDL.replace(' ', ':').replace(',:', ',')},ok:boolean>")
        is_it = header == F.lit(_header(schema_id))
        branches = F.when(is_it, decoded) if branches is None else branches.when(is_it, decoded)
    assert branches is not None
    return frame.select(F.inline(F.array(branches)))


def decode_with_fastavro(frame: DataFrame) -> DataFrame:
    """fastavro in `mapInArrow`: writer schemas renamed once, every body read to its last byte, a reason for each bad row."""
    return frame.mapInArrow(_decoder(), f"{DDL}, REASON string")


def decode_nothing(frame: DataFrame) -> DataFrame:
    """Rows of that size in `mapInArrow`, without reading any: what Spark asks for handing payloads to Python and rows back."""
    schema = _ARROW
    row: dict[str, Any] = {"ID": 7, "NAME": "name-2500", "CITY": "city-50", "NOTE": None, "AGE": 42, "SCORE": 1.5}
    row |= {"ACTIVE": True, "SEEN": 1_592_265_600_000_000, "WEIGHT": 0.5, "TAGS": ["a"], "REASON": None}

    def give(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made: dict[int, pa.RecordBatch] = {}
        for batch in batches:
            count = batch.num_rows
            if count not in made:
                arrays = [pa.array([row[field.name]] * count, field.type) for field in schema]
                made[count] = pa.RecordBatch.from_arrays(arrays, schema=schema)
            yield made[count]

    return frame.mapInArrow(give, f"{DDL}, REASON string")


def encode_nothing(frame: DataFrame) -> DataFrame:
    """Payloads of that size in `mapInArrow`, without writing any row."""
    payload = _header(3) + bytes(68)

    def give(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            payloads = pa.repeat(pa.scalar(payload, pa.binary()), batch.num_rows)
            yield pa.RecordBatch.from_arrays([payloads], names=["value"])

    return frame.mapInArrow(give, "value binary")


def _decoder() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    texts, arrow, names, prefix = dict(SCHEMAS), _ARROW, _NAMES, _PREFIX
    headers = {schema_id: _header(schema_id) for schema_id in texts}

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schemas = {}
        for schema_id, text in texts.items():
            schema = json.loads(text)
            schema["fields"] = [{**field, "name": field["name"].upper()} for field in schema["fields"]]
            schemas[headers[schema_id]] = fastavro.parse_schema(schema)
        read = fastavro.schemaless_reader
        nothing: dict[str, object] = dict.fromkeys(names)
        for batch in batches:
            rows, reasons = [], []
            for payload in batch.column(0).to_pylist():
                row: Any = nothing
                reason = None
                if payload is None:
                    reason = "TOMBSTONE"
                elif len(payload) < prefix:
                    reason = "TOO_SHORT"
                elif payload[0]:
                    reason = "BAD_MAGIC"
                elif (schema := schemas.get(payload[:prefix])) is None:
                    reason = "UNKNOWN_ID"
                else:
                    body = io.BytesIO(payload)
                    body.seek(prefix)
                    try:
                        row = read(body, schema, None)
                        if body.tell() != len(payload):
                            row, reason = nothing, "TRAILING_BYTES"
                    except Exception:  # noqa: BLE001 - whatever fastavro raises on a broken body
                        row, reason = nothing, "DECODE_FAILED"
                rows.append(row)
                reasons.append(reason)
            arrays = [pa.array([row.get(name) for row in rows], arrow.field(name).type) for name in names]
            yield pa.RecordBatch.from_arrays([*arrays, pa.array(reasons, pa.string())], schema=arrow)

    return decode


def encode_with_to_avro(frame: DataFrame) -> DataFrame:
    """Spark's `to_avro` behind the header of id 3, for a frame of the fields in lower case."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import to_avro

    row = F.struct(*frame.columns)
    return frame.select(F.concat(F.lit(_header(3)), to_avro(row, lower_schema())).alias("value"))


def encode_with_fastavro(frame: DataFrame) -> DataFrame:
    """fastavro in `mapInArrow`, for the same frame."""
    text, header = lower_schema(), _header(3)

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema, write = fastavro.parse_schema(json.loads(text)), fastavro.schemaless_writer
        for batch in batches:
            payloads = []
            for row in batch.to_pylist():
                body = io.BytesIO()
                body.write(header)
                write(body, schema, row)
                payloads.append(body.getvalue())
            yield pa.RecordBatch.from_arrays([pa.array(payloads, pa.binary())], names=["value"])

    return frame.mapInArrow(encode, "value binary")
