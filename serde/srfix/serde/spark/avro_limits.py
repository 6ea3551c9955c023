"""Checks whether the JVMs in which the jvm engine reads limit the lengths that Java's Avro accepts.

Before Java's Avro reads an array or a string, it allocates memory for all the items or bytes that the data claims, and
five bytes after the framing can claim 2³⁰ of them. A JVM without enough memory crashes (in local mode, with the
driver), and no mode of `from_avro` helps. This happens only for fields that a column wants; other fields are skipped
and take no memory. So a schema whose wanted part has no lengths needs no limit. All others need the system properties
in `LIMITS`, which Avro reads once: `start_session` sets them for its sessions, and `unbounded` checks a session that
others started. It asks the JVMs that run tasks, by a job of a few tasks, also on Connect. A session that forbids
`java_method` counts as unlimited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

from srfix.serde import bounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from srfix.serde.spark.read.jvm.read import JvmRead

_ITEMS: Final = "org.apache.avro.limits.collectionItems.maxLength"
_STRING: Final = "org.apache.avro.limits.string.maxLength"
_BYTES: Final = "org.apache.avro.limits.bytes.maxLength"
LIMITS: Final[Mapping[str, int]] = {
    _ITEMS: bounds.AVRO_JVM_ITEMS,
    _STRING: bounds.AVRO_JVM_TEXT_BYTES,
    _BYTES: bounds.AVRO_JVM_TEXT_BYTES,
}
_TIMES: Final = 10
"""A cluster's own limit may be larger by this factor. With a larger limit, a JVM of a few gigabytes still crashes."""

_JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions")
"""The prefix of options that Spark puts before the `extraJavaOptions`, so that a cluster's own options stay."""
_NEEDED: Final = {"array": (_ITEMS,), "map": (_ITEMS,), "string": (_STRING, _BYTES), "bytes": (_STRING, _BYTES)}
"""By the type that a reader wants. A string may have been written as bytes, and bytes as a string."""
KNOWS_ITEMS: Final = ("org.apache.avro.SystemLimitException", "'checkMaxStringLength', 1L")
"""A class that exists since Avro 1.11.3, which has the limit on items."""
ENDS_SKIPPING: Final = ("org.apache.avro.SchemaFormatter", "'getInstance', 'json'")
"""A class that exists since Avro 1.12, which ends its skipping of an array or map, whatever size the data claims."""
_TOO_OLD: Final = (
    "Spark's Avro is older than 1.11.3 and has no limit on the items of arrays and maps, whatever is set: a record "
    "of ten bytes that claims 2³⁰ items can crash Spark's JVMs. Use a later patch release of this Spark (3.5.9 has "
    "Avro 1.11.5), or columns without ARRAY and MAP"
)
_UNENDING: Final = (
    "Spark's Avro is older than 1.12: if it skips an array or map that no column reads, a record of ten bytes that "
    "claims a negative size keeps its task busy for ever. Give columns for the arrays and maps of the schemas, or "
    "use Spark 4.0 or newer"
)
_FLAGS: Final = " ".join(f"-D{name}={most}" for name, most in LIMITS.items())


def with_avro_limits(config: Mapping[str, str]) -> dict[str, str]:
    """Existing limits stay, here and in the `extraJavaOptions` of the cluster's own configuration."""
    bounded = dict(config)
    for option in _JAVA_OPTIONS:
        java_options = config.get(option, "")
        flags = [f"-D{name}={most}" for name, most in LIMITS.items() if f"-D{name}=" not in java_options]
        bounded[option] = " ".join(filter(None, (java_options, *flags)))
    return bounded


def limits_needed(read: JvmRead) -> tuple[str, ...]:
    """The properties without which a few bytes of a topic can crash the reading JVM."""
    types = chain.from_iterable(_types(json.loads(shape.reader_schema)) for shape in read.shapes)
    needed = set(chain.from_iterable(_NEEDED.get(type_, ()) for type_ in types))
    return tuple(name for name in LIMITS if name in needed)


def unbounded(spark: SparkSession, needed: Iterable[str]) -> str | None:
    """Why the jvm engine is not safe in a session, which a small job checks once, if a property is needed."""
    wanted = tuple(needed)
    if not wanted:
        return None
    from srfix.serde.spark._pyspark.sessions import has_class, read_jvm_properties

    properties = read_jvm_properties(spark, tuple(LIMITS))
    if isinstance(properties, str):
        why = f"srfix cannot check here whether Spark's JVMs limit the lengths that Avro accepts ({properties})"
    else:
        lacking = [name for name in wanted if name not in properties or properties[name] > _TIMES * LIMITS[name]]
        if _ITEMS in wanted and not has_class(spark, *KNOWS_ITEMS):
            return _TOO_OLD
        if not lacking:
            return None
        shortfalls = (f"{name} (their value is {properties[name]})" if name in properties else name for name in lacking)
        why = f"Spark's JVMs run without {', '.join(shortfalls)}"
    return (
        f"{why}: a record of ten bytes can crash these JVMs, if it claims an array of 2³⁰ items or a string of 2³⁰ "
        "bytes. Start the session with srfix.serde.spark.start_session, which sets limits, or with these lines in "
        "spark-defaults.conf (or as --conf of spark-submit): "
        + "; ".join(f"{option} {_FLAGS}" for option in _JAVA_OPTIONS)
    )


def unending(spark: SparkSession, read: JvmRead) -> str | None:
    """Why a record may keep the jvm engine busy for ever in a session."""
    if not any(shape.skips_items for shape in read.shapes):
        return None
    from srfix.serde.spark._pyspark.sessions import has_class

    return None if has_class(spark, *ENDS_SKIPPING) else _UNENDING


def _types(schema: object) -> Iterable[str]:
    if isinstance(schema, str):
        yield schema
    elif isinstance(schema, list):
        for branch in schema:
            yield from _types(branch)
    elif isinstance(schema, dict):
        yield from _types(schema.get("type"))
        for part in ("items", "values"):
            yield from _types(schema.get(part))
        for field in schema.get("fields", ()):
            yield from _types(field["type"])
