"""A topic of three schemas, as Parquet: ten fields, about 68 bytes a payload.

| id | share | schema |
|---|---|---|
| 3 | a half | the columns in lower case |
| 4 | a quarter | one field more |
| 7 | a quarter | the columns in upper case, another record name, no SCORE |
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from srfix.serde.wire import frame_id

TOPIC: Final = "bench"
COLUMNS: Final = (
    "ID BIGINT, NAME STRING, CITY STRING, NOTE STRING, AGE INT, SCORE DOUBLE, ACTIVE BOOLEAN, SEEN TIMESTAMP, "
    "WEIGHT DOUBLE, TAGS ARRAY<STRING>"
)
DDL: Final = (
    "ID bigint, NAME string, CITY string, NOTE string, AGE int, SCORE double, ACTIVE boolean, SEEN timestamp, "
    "WEIGHT double, TAGS array<string>"
)
"""The same for Spark."""

_ROWS_A_FILE: Final = 125_000
_FIELDS: Final[tuple[tuple[str, object], ...]] = (
    ("id", "long"),
    ("name", "string"),
    ("city", ["null", "string"]),
    ("note", ["null", "string"]),
    ("age", "int"),
    ("score", "double"),
    ("active", "boolean"),
    ("seen", {"type": "long", "logicalType": "timestamp-millis"}),
    ("weight", "float"),
    ("tags", {"type": "array", "items": "string"}),
)


def _record(name: str, fields: tuple[tuple[str, object], ...]) -> str:
    return json.dumps(
        {"type": "record", "name": name, "namespace": "bench", "fields": [{"name": n, "type": t} for n, t in fields]}
    )


def lower_schema() -> str:
    """The schema of id 3."""
    return _record("User", _FIELDS)


def _three(fields: tuple[tuple[str, object], ...]) -> dict[int, str]:
    return {
        3: _record("User", fields),
        4: _record("User", (*fields, ("extra", ["null", "string"]))),
        7: _record("KsqlDataSourceSchema", tuple((n.upper(), t) for n, t in fields if n != "score")),
    }


SCHEMAS: Final = _three(_FIELDS)
"""By id."""


def row(number: int) -> dict[str, object]:
    """The fields of a row, in lower case."""
    return {
        "id": number,
        "name": f"name-{number % 5000}",
        "city": None if number % 3 else f"city-{number % 100}",
        "note": None if number % 5 else "seen twice",
        "age": number % 90,
        "score": number / 7,
        "active": number % 2 == 0,
        "seen": 1_592_265_600_000 + number,
        "weight": float(number % 1000) / 4,
        "tags": ["a", "b"][: number % 3],
        "extra": None if number % 2 else "more",
    }


def shapes(count: int, *, with_casts: bool) -> dict[int, str]:
    """So many schemas, by id, no two of which are read alike. Three are those of the table above. Without casts the columns'
    types are the writers' own: no float is read as a DOUBLE.
    """
    fields = _FIELDS if with_casts else tuple((n, "double" if t == "float" else t) for n, t in _FIELDS)
    if count == len(SCHEMAS):
        return _three(fields)
    extra = tuple((f"extra{number}", ["null", "string"]) for number in range(count))
    return {number + 1: _record("User", (*fields, *extra[:number])) for number in range(count)}


def write_topic(folder: Path, records: int, schemas_by_id: Mapping[int, str] = SCHEMAS) -> None:
    """Parquet files with a column `value`, of as many payloads, the ids mixed."""
    ids = (3, 4, 3, 7) if schemas_by_id.keys() == SCHEMAS.keys() else tuple(schemas_by_id)
    documents = {schema_id: json.loads(text) for schema_id, text in schemas_by_id.items()}
    schemas = {schema_id: fastavro.parse_schema(document) for schema_id, document in documents.items()}
    names = {schema_id: [field["name"] for field in document["fields"]] for schema_id, document in documents.items()}
    for start in range(0, records, _ROWS_A_FILE):
        payloads = []
        for number in range(start, min(start + _ROWS_A_FILE, records)):
            schema_id = ids[number % len(ids)]
            fields = row(number)
            body = io.BytesIO()
            fastavro.schemaless_writer(
                body, schemas[schema_id], {name: fields.get(name.lower()) for name in names[schema_id]}
            )
            payloads.append(frame_id(schema_id, body.getvalue()))
        pq.write_table(pa.table({"value": pa.array(payloads, pa.binary())}), folder / f"part-{start:09}.parquet")
