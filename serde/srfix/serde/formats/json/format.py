"""Plain JSON, without a schema: ksqlDB's JSON format.

Reading is `KsqlJsonDeserializer`, writing is Connect's `JsonConverter` with `schemas.enable=false` and
`decimal.format=NUMERIC` (`KsqlJsonSerdeFactory`). The tables are in `formats.json.scalars` and `formats.json.encode`.
"""

from __future__ import annotations

from srfix.serde.engine import Decode, Encode
from srfix.serde.formats.json.decode import column_decoder, plain_decoder
from srfix.serde.formats.json.encode import column_encoder, plain_encoder
from srfix.serde.formats.rows.bare import check_json_columns
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """A decoder. Without columns it gives the parsed JSON: fractions are floats, whole numbers exact.

    With columns, a body that is `null` is no row (None), unless the column is un-wrapped: then it is that column's null.
    The schema and its references have no say: JSON has none.
    """
    if spec.columns is None:
        return plain_decoder()
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_decoder(spec)


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder. Without columns it takes whatever has one JSON: no NaN, no bytes, no dates.

    With columns, keys of a row are matched to them by the case rule; a column that the row lacks is written as null.
    The schema and its references have no say: JSON has none.
    """
    if spec.columns is None:
        return plain_encoder()
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_encoder(spec)
