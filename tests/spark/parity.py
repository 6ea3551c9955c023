"""The deserializer and both engines beside each other: many plans in one job."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Final

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from srfix.serde import BadRow, EngineRefusedError, Reason, SerdeContext, deserialize_many
from srfix.serde.interface import Value
from srfix.serde.spark import ReadPlan
from srfix.serde.spark._pyspark.engines import Decoding, arrow_decoded, arrow_fallback, decoded_type
from srfix.serde.spark._pyspark.frames import judged_payloads
from srfix.serde.spark.avro_limits import unending
from srfix.serde.spark.read.jvm.read import JvmRead, jvm_read
from srfix.serde.spark.releases import lacks_arrow

HAS_ARROW: Final = lacks_arrow() is None
_PLANS_A_JOB = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Payloads:
    """What is read with a plan."""

    plan: ReadPlan
    payloads: Sequence[bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What an engine made of a payload. Dates and times are texts: Spark has more of them than Python."""

    row: object
    reason: str | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A payload, and what everyone made of it."""

    plan: ReadPlan
    payload: bytes | None
    bad: BadRow | None
    """What the deserializer says, if it is bad."""
    deserializer: Decoded
    arrow: Decoded | None
    """None on a Spark without the arrow engine."""
    jvm: Decoded | None
    """None where the engine has refused the plan."""
    auto: Decoded | None = None
    """The jvm engine with Python for the rows that the plan does not know; None where nobody asked, or where it is the arrow
    engine."""

    @property
    def arrow_agrees(self) -> bool:
        """Whether the arrow engine, where Spark has it, says what the deserializer does."""
        return self.arrow is None or self.arrow == self.deserializer


def compare(spark: SparkSession, given: Sequence[Payloads], *, with_auto: bool = False) -> Iterator[Compared]:
    """All of them, in a few jobs, in their order."""
    for start in range(0, len(given), _PLANS_A_JOB):
        yield from _job(spark, given[start : start + _PLANS_A_JOB], with_auto)


def _job(spark: SparkSession, given: Sequence[Payloads], with_auto: bool) -> Iterator[Compared]:
    # A column for each plan: one job reads them all, each into rows of its own type.
    rows = [(number, *payloads) for number, payloads in enumerate(zip_longest(*(each.payloads for each in given)))]
    names = [f"p{number}" for number in range(len(given))]
    frame = spark.createDataFrame(rows, "i int, " + ", ".join(f"{name} binary" for name in names))
    reads = [_jvm(spark, each.plan) for each in given]
    decoded: list[Column] = []
    for name, each, read in zip(names, given, reads, strict=True):
        as_text = _with_texts(decoded_type(each.plan))
        if HAS_ARROW:
            decoded.append(arrow_decoded(each.plan, F.col(name)).cast(as_text).alias(f"arrow_{name}"))
        if read is not None:
            decoded.append(jvm_decoded(each.plan, F.col(name)).cast(as_text).alias(f"jvm_{name}"))
        if read is not None and with_auto and HAS_ARROW:
            auto = jvm_decoded(each.plan, F.col(name), fallback=partial(arrow_fallback, each.plan))
            decoded.append(auto.cast(as_text).alias(f"auto_{name}"))
    found = sorted(frame.select("i", *decoded).collect(), key=lambda row: int(row["i"]))
    for name, each, read in zip(names, given, reads, strict=True):
        expected = deserialize_many(
            each.payloads, SerdeContext(each.plan.topic), each.plan.deserializer(), on_error="quarantine"
        )
        for payload, wanted, row in zip(each.payloads, expected, found, strict=False):
            yield Compared(
                plan=each.plan,
                payload=payload,
                bad=wanted if isinstance(wanted, BadRow) else None,
                deserializer=_wanted(wanted),
                arrow=_got(row[f"arrow_{name}"]) if HAS_ARROW else None,
                jvm=None if read is None else _got(row[f"jvm_{name}"]),
                auto=_got(row[f"auto_{name}"]) if read is not None and with_auto and HAS_ARROW else None,
            )


def jvm_decoded(plan: ReadPlan, payload: Column, fallback: Callable[[Column], Column] | None = None) -> Column:
    """`struct<row, reason, message>` by the jvm engine, as a column's."""
    judged = judged_payloads(Decoding(plan=plan, read=jvm_read(plan), fallback=fallback), payload)
    return F.get(F.transform(judged, lambda one: one.dropFields("payload")), F.lit(0))


def _jvm(spark: SparkSession, plan: ReadPlan) -> JvmRead | None:
    try:
        read = jvm_read(plan)
    except EngineRefusedError:
        return None
    return read if unending(spark, read) is None else None


def _with_texts(type_: DataType) -> DataType:
    match type_:
        case StructType():
            return StructType([StructField(field.name, _with_texts(field.dataType)) for field in type_])
        case ArrayType():
            return ArrayType(_with_texts(type_.elementType))
        case MapType():
            return MapType(type_.keyType, _with_texts(type_.valueType))
        case DateType() | TimestampType() | TimestampNTZType():
            return StringType()
        case _:
            return type_


def _wanted(wanted: Value | BadRow) -> Decoded:
    if isinstance(wanted, BadRow):
        message = wanted.error.message.encode(errors="backslashreplace").decode()
        return Decoded(row=None, reason=wanted.reason.value, message=message)
    return Decoded(row=plain(wanted), reason=Reason.TOMBSTONE.value if wanted is None else None, message=None)


def _got(decoded: Row) -> Decoded:
    row = decoded["row"]
    return Decoded(
        row=None if row is None else plain(row.asDict(recursive=True)),
        reason=decoded["reason"],
        message=decoded["message"],
    )


def plain(value: object) -> object:
    """A value such that equal ones are equal, whatever Spark makes of them in Python."""
    match value:
        case float():
            return value.hex()
        case datetime.datetime():
            # As Spark's cast.
            local = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
            text = local.isoformat(" ", "microseconds")
            return text.rstrip("0").rstrip(".") if value.microsecond else text[:19]
        case datetime.date():
            return value.isoformat()
        case bytearray():
            return bytes(value)
        case dict():
            return {name: plain(part) for name, part in value.items()}
        case list():
            return [plain(part) for part in value]
        case _:
            return value
