"""Payloads whose schema is named in a record header, brought into the framing that has it in front: for an engine in the
JVM, which is given no headers."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from srfix.serde.errors import MalformedHeaderError, WireError
from srfix.serde.subjects.names import Role
from srfix.serde.wire import PREFIX_GUID_SIZE, header_guid, schema_id_header

PAYLOAD: Final = "payload"
PROBLEM: Final = "problem"


def framed_by_header(payload: Column, headers: Column, role: Role) -> Column:
    """`struct<payload: binary, problem: string>`: the payload with the header's magic byte and GUID before it, and as it is
    where there is no such header; or no payload and, in the words of `wire.header_guid`, why the header cannot be read."""
    name = schema_id_header(role)
    header = F.try_element_at(F.filter(headers, lambda one: one["key"] == name), F.lit(-1))  # the last one counts
    value = header["value"]
    is_guid = F.coalesce((F.length(value) == PREFIX_GUID_SIZE) & value.startswith(F.lit(b"\1")), F.lit(False))
    before, behind = _malformed(role).split("0 bytes", 1)
    size = F.coalesce(F.concat(F.length(value).cast("string"), F.lit(" bytes")), F.lit("null"))
    problem = F.concat(F.lit(before), size, F.lit(behind))
    plain = F.struct(payload.alias(PAYLOAD), F.lit(None).cast("string").alias(PROBLEM))
    by_guid = F.struct(F.concat(value, payload).alias(PAYLOAD), F.lit(None).cast("string").alias(PROBLEM))
    unreadable = F.struct(F.lit(None).cast("binary").alias(PAYLOAD), problem.alias(PROBLEM))
    # Most records have no headers at all: nothing is searched for them.
    return (
        F.when(payload.isNull() | headers.isNull() | header.isNull(), plain)
        .when(is_guid, by_guid)
        .otherwise(unreadable)
    )


def _malformed(role: Role) -> str:
    try:
        header_guid({schema_id_header(role): b""}, role)
    except MalformedHeaderError as error:
        return error.message
    raise WireError("An empty header is no GUID.")
