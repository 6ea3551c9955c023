"""Whether one Avro schema may follow another, by a registry's compatibility level.

The rules are Apache Avro's (`avro.compatibility`, the twin of Java's `SchemaCompatibility`, which Confluent's
registry asks), over its parsed schemas (`formats.avro.compatibility`). Where the Python library differs from the Java one, the
schemas are changed first, so that the answer is Java's:

- aliases of named types count by their full name in the reader's namespace (Java: `Schema.getAliases`);
  Python compares the alias as it is written;
- logical types play no part; Python warns about unknown ones and refuses an invalid decimal on a fixed;
- names may be in any script (Java's `Schema.validateName`); Python takes ASCII only;
- an `error` is a record; Python gives up on it.

Both compare named types by their name without the namespace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from srfix.serde.bounds import SCHEMA_CACHE
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.formats.avro import CompatibilityChecker

if TYPE_CHECKING:
    from avro.schema import NamedSchema, RecordSchema, Schema

_NAME = re.compile(r"[^\W\d]\w*")
"""Letters of any script, digits and underscores, no digit first (Java's `Schema.validateName`)."""


class CompatibilityLevel(Enum):
    """A registry's compatibility levels (Confluent's `CompatibilityLevel`)."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def new_reads_old(self) -> bool:
        """True if readers with the new schema must be able to read what was written under an existing one."""
        return self.name.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        """True if a reader with an existing schema must be able to read what is written under the new one."""
        return self.name.startswith(("FORWARD", "FULL"))

    @property
    def transitive(self) -> bool:
        """True if every existing schema counts, not the latest alone."""
        return self.name.endswith("_TRANSITIVE")


def incompatibilities(*, new: str, existing: Sequence[str], level: str) -> tuple[str, ...]:
    """Why a registry would refuse the Avro schema `new` after `existing`; empty if it would accept it.

    `existing` holds the texts of the subject's live versions, oldest first. Levels without `_TRANSITIVE` look
    at the last one alone. Reasons are short sentences: the latest first, sorted within one direction.

    :raises SchemaError: if a text that is looked at is not an Avro schema. `new` always is, even at NONE.
    :raises UsageError: if `level` is none of `CompatibilityLevel`'s names.
    """
    rule = _level(level)
    new_schema = _parse(new)
    if rule is CompatibilityLevel.NONE or not existing:
        return ()
    reasons: list[str] = []
    for text in reversed(existing if rule.transitive else existing[-1:]):
        old_schema = _parse(text)
        if rule.new_reads_old:
            reasons += (
                f"The new schema cannot read the existing one: {r}" for r in _cannot_read(new_schema, old_schema)
            )
        if rule.old_reads_new:
            reasons += (
                f"The existing schema cannot read the new one: {r}" for r in _cannot_read(old_schema, new_schema)
            )
    return tuple(reasons)


def _level(level: str) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(level)
    except ValueError:
        known = ", ".join(each.value for each in CompatibilityLevel)
        raise UsageError(f"The compatibility level {level!r} is not known; the levels are {known}.") from None


# One text is compared with many: a subject's versions with each other, one repair's with many subjects.
@lru_cache(maxsize=SCHEMA_CACHE)
def _parse(text: str) -> Schema:
    # Late, for it takes longer to load than all of srfix.serde, and few who import it compare schemas.
    from avro.errors import AvroException
    from avro.name import Names
    from avro.schema import make_avsc_object

    names = Names(validate_names=False)
    try:
        parsed = make_avsc_object(json.loads(text, object_hook=_without_logical_type), names, False, False)
        for schema in names.names.values():
            _as_java_sees_it(schema)
    # The library lets a missing or misplaced key surface as whatever Python raises there.
    except (AvroException, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        what = "it nests too deep" if isinstance(error, RecursionError) else _first_line(error)
        raise SchemaError(f"The text is not an Avro schema ({what}); it begins {text[:80]!r}.") from error
    return parsed


def _without_logical_type(node: dict[str, object]) -> dict[str, object]:
    node.pop("logicalType", None)
    return node


def _as_java_sees_it(schema: NamedSchema) -> None:
    names = [schema.name]
    if schema.type in ("record", "error"):
        names += (field.name for field in cast("RecordSchema", schema).fields)
    for name in names:
        if not _NAME.fullmatch(name):
            raise SchemaError(f"Illegal character in: {name[:200]}")
    if schema.type == "error":
        schema.type = "record"
    aliases = schema.props.get("aliases")
    if isinstance(aliases, list):
        prefix = f"{schema.namespace}." if schema.namespace else ""
        schema.set_prop("aliases", [a if "." in a else f"{prefix}{a}" for a in aliases])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _cannot_read(reader: Schema, writer: Schema) -> list[str]:
    result = CompatibilityChecker().check(reader, writer)
    # Reasons and places are two sets: only where each has one do they belong together.
    places = result.places - {"/"} or {"/"}
    where = f" at {min(places)}" if len(result.reasons) == 1 == len(places) else ""
    return sorted(f"{reason}{where}." for reason in result.reasons)
