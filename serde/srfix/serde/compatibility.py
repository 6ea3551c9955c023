"""Decides whether one schema may follow another, by a registry's compatibility level. The rules for Protobuf are in
`formats.protobuf.compatibility`.

The rules for Avro are Apache Avro's (`avro.compatibility`, the twin of Java's `SchemaCompatibility`, which Confluent's
registry asks), over its parsed schemas. If the Python library differs from the Java one, the schemas are changed first,
so that the answer is the same as in Java:

- aliases of named types count by their full name in the reader's namespace (Java: `Schema.getAliases`);
  Python compares the alias as it is written;
- logical types are ignored; Python warns about unknown ones and refuses an invalid decimal on a fixed;
- names may be in any script (Java's `Schema.validateName`); Python accepts only ASCII;
- an `error` is a record; Python gives up on it.

Both libraries compare named types by their name without the namespace.

The checker gives the library's result, but in a limited time. The library compares each branch of a union with each
branch of the other union, and copies its whole result at each step. This checker compares a named branch only with
branches of the same name, because no other can read it; it compares each pair of types once; and it limits the number
of reasons. If schemas have more pairs of types than any real schema, it raises a SchemaError.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from srfix.serde.bounds import COMPATIBILITY_PAIRS, COMPATIBILITY_REASONS, SCHEMA_CACHE
from srfix.serde.errors import SchemaError, UsageError

if TYPE_CHECKING:
    from avro.schema import (
        ArraySchema,
        EnumSchema,
        Field,
        FixedSchema,
        MapSchema,
        NamedSchema,
        RecordSchema,
        Schema,
        UnionSchema,
    )


_PRIMITIVES: Final = ("null", "boolean", "string", "bytes", "int", "long", "float", "double")
_NAMED: Final = ("record", "enum", "fixed")
_WIDENED: Final = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
"""Reader's type → the other types that it can read."""
_SHOWN_CHARACTERS: Final = 200
_SHOWN_SYMBOLS: Final = 20


@dataclass(frozen=True, slots=True)
class CompatibilityResult:
    """The incompatibilities; none if the reader can read everything that the writer may have written."""

    reasons: frozenset[str] = frozenset()
    """The reasons, as parts of sentences; at most `COMPATIBILITY_REASONS`."""
    places: frozenset[str] = frozenset()

    @property
    def reads(self) -> bool:
        return not self.reasons


_READS: Final = CompatibilityResult()


class CompatibilityChecker:
    def __init__(self) -> None:
        self.compared = 0
        self._results: dict[tuple[int, int], CompatibilityResult] = {}
        self._branches: dict[int, dict[str, list[Schema]]] = {}

    def check(self, reader: Schema, writer: Schema) -> CompatibilityResult:
        try:
            return self._pair(reader, writer, ("/",))
        except RecursionError:
            raise SchemaError("The schemas nest too deep to be compared.") from None

    def _pair(self, reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
        key = (id(reader), id(writer))
        result = self._results.get(key)
        if result is not None:
            return result
        self.compared += 1
        if self.compared > COMPATIBILITY_PAIRS:
            raise SchemaError(
                f"The schemas have more than {COMPATIBILITY_PAIRS:,} pairs of types to compare, references included "
                "(srfix.serde.bounds.COMPATIBILITY_PAIRS)."
            )
        self._results[key] = _READS  # the type is recursive
        result = self._results[key] = self._compare(reader, writer, place)
        return result

    def _compare(self, reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
        if writer.type == "union":
            branches = cast("UnionSchema", writer).schemas
            if reader.type != "union":
                return _all(self._pair(reader, branch, ("/",)) for branch in branches)
            return _all(
                _READS
                if self._pair(reader, branch, ("/",)).reads
                else _not(f"reader union lacking writer type: {branch.type.upper()}", *place, str(index))
                for index, branch in enumerate(branches)
            )
        if reader.type == "union":
            if any(self._pair(branch, writer, ("/",)).reads for branch in self._candidates(reader, writer)):
                return _READS
            return _not(f"reader union lacking writer type {writer.type}", *place)
        if reader.type != writer.type:
            if writer.type in _WIDENED.get(reader.type, ()):
                return _READS
            return _not(f"reader type: {reader.type} not compatible with writer type: {writer.type}", *place)
        match reader.type:
            case "array":
                items = cast("ArraySchema", reader).items, cast("ArraySchema", writer).items
                return self._pair(*items, (*place, "items"))
            case "map":
                values = cast("MapSchema", reader).values, cast("MapSchema", writer).values
                return self._pair(*values, (*place, "values"))
            case "fixed":
                return _all((_names(reader, writer, place), _sizes(reader, writer, place)))
            case "enum":
                return _all((_names(reader, writer, place), _symbols(reader, writer, place)))
            case "record":
                return _all((_names(reader, writer, place), _all(self._fields(reader, writer, place))))
            case primitive if primitive in _PRIMITIVES:
                return _READS
            case other:
                raise SchemaError(f"Schemas of the type {other[:_SHOWN_CHARACTERS]!r} cannot be compared.")

    def _fields(self, reader: Schema, writer: Schema, place: tuple[str, ...]) -> Iterator[CompatibilityResult]:
        written: dict[str, Field] = cast("RecordSchema", writer).fields_dict
        for index, field in enumerate(cast("RecordSchema", reader).fields):
            here = (*place, "fields", str(index))
            names = [field.name, *_aliases(field)]
            counterpart = next((written[name] for name in names if name in written), None)
            if counterpart is not None:
                yield self._pair(field.type, counterpart.type, (*here, "type"))
            elif not field.has_default:
                if field.type.type == "enum" and field.type.props.get("default"):
                    yield self._pair(field.type, writer, (*here, "type"))
                else:
                    name = _short(repr(field.name))
                    yield _not(f"the reader's field {name} has no default value and the writer lacks it", *here)

    def _candidates(self, union: Schema, writer: Schema) -> list[Schema]:
        """The branches that may read a writer's type, in their order: a named branch only its own name."""
        branches = self._branches.get(id(union))
        if branches is None:
            branches = self._branches[id(union)] = _by_name(cast("UnionSchema", union).schemas)
        if writer.type not in _NAMED:
            return branches[""]
        named = cast("NamedSchema", writer)
        both = (*branches[f"name {named.name}"], *branches[f"alias {named.fullname}"])
        return [branch for branch in dict.fromkeys(both) if branch.type == writer.type]


def _by_name(branches: Iterable[Schema]) -> dict[str, list[Schema]]:
    by_label: dict[str, list[Schema]] = defaultdict(list)
    for branch in branches:
        if branch.type in _NAMED:
            by_label[f"name {cast('NamedSchema', branch).name}"].append(branch)
            for alias in _aliases(branch):
                by_label[f"alias {alias}"].append(branch)
        else:
            by_label[""].append(branch)
    return by_label


def _aliases(named: Schema | Field) -> list[str]:
    aliases = named.props.get("aliases")
    return [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []


def _all(results: Iterable[CompatibilityResult]) -> CompatibilityResult:
    reasons: set[str] = set()
    places: set[str] = set()
    for result in results:
        # Beyond the limit no more reasons are collected, but everything is compared, because the result of each pair is
        # remembered.
        if len(reasons) < COMPATIBILITY_REASONS:
            reasons |= result.reasons
            places |= result.places
    if not reasons:
        return _READS
    first_reasons = sorted(reasons)[:COMPATIBILITY_REASONS]
    return CompatibilityResult(frozenset(first_reasons), frozenset(sorted(places)[:COMPATIBILITY_REASONS]))


def _not(reason: str, *place: str) -> CompatibilityResult:
    return CompatibilityResult(frozenset((reason,)), frozenset(("/".join(place)[1:] if len(place) > 1 else place[0],)))


def _names(reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
    mine, theirs = cast("NamedSchema", reader), cast("NamedSchema", writer)
    if mine.name == theirs.name or theirs.fullname in _aliases(mine):
        return _READS
    return _not(f"the name differs, expected: {_short(theirs.fullname)}", *place, "name")


def _sizes(reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
    mine, theirs = cast("FixedSchema", reader).size, cast("FixedSchema", writer).size
    return _READS if mine == theirs else _not(f"the size differs, expected: {theirs}, found: {mine}", *place, "size")


def _symbols(reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
    mine = set(cast("EnumSchema", reader).symbols)
    lacking = sorted(set(cast("EnumSchema", writer).symbols) - mine)
    default = reader.props.get("default")
    if not lacking or (isinstance(default, str) and default in mine):
        return _READS
    more = f" and {len(lacking) - _SHOWN_SYMBOLS:,} more" if len(lacking) > _SHOWN_SYMBOLS else ""
    shown = ", ".join(_short(symbol) for symbol in lacking[:_SHOWN_SYMBOLS])
    return _not(f"the reader's enum lacks the symbols {shown}{more}", *place, "symbols")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


_NAME = re.compile(r"[^\W\d]\w*")
"""Letters of any script, digits and underscores; the first character is not a digit (Java's `Schema.validateName`)."""


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
        """True if every existing schema counts, not only the latest one."""
        return self.name.endswith("_TRANSITIVE")


def incompatibilities(
    *,
    new: str,
    existing: Sequence[str],
    level: str,
    schema_type: str = "AVRO",
    new_references: tuple[str, ...] = (),
    existing_references: Sequence[tuple[str, ...]] = (),
) -> tuple[str, ...]:
    """The reasons why a registry would refuse the schema `new` after `existing`; empty if it would accept it.

    `existing` holds the texts of the subject's live versions, oldest first. Levels without `_TRANSITIVE` look only at
    the last one. The reasons are short sentences: those about the latest version first, sorted within one direction.

    `schema_type` is AVRO or PROTOBUF. A Protobuf schema may refer to other schemas. `new_references` has the texts of
    the schemas to which `new` refers (see `reference_texts`). `existing_references` has a tuple of such texts for each
    schema of `existing`; leave it out if none of these schemas refers to another schema.

    :raises SchemaError: if a compared text is not a schema of its type. `new` is always checked, even at NONE.
    :raises UsageError: if `level` is not a name of `CompatibilityLevel`, or `schema_type` is another one; or if the
        libraries for Protobuf are missing.
    """
    rule = _level(level)
    if schema_type not in _FORMATS:
        raise UsageError(f"srfix compares schemas of the types {' and '.join(_FORMATS)}, not {schema_type!r:.40}.")
    parse, cannot_read = _FORMATS[schema_type]
    new_schema = parse(new, new_references)
    if rule is CompatibilityLevel.NONE or not existing:
        return ()
    reasons: list[str] = []
    versions = [*zip(existing, existing_references or [()] * len(existing), strict=True)]
    for text, references in reversed(versions if rule.transitive else versions[-1:]):
        old_schema = parse(text, references)
        for is_asked, reader, writer, words in (
            (rule.new_reads_old, new_schema, old_schema, "The new schema cannot read the existing one"),
            (rule.old_reads_new, old_schema, new_schema, "The existing schema cannot read the new one"),
        ):
            reasons += (f"{words}: {reason}" for reason in (cannot_read(reader, writer) if is_asked else ()))
    return tuple(reasons)


def _level(level: str) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(level)
    except ValueError:
        levels = ", ".join(member.value for member in CompatibilityLevel)
        raise UsageError(f"The compatibility level {level!r} is not known; the levels are {levels}.") from None


# The parsed schema is cached, because one text is compared with many: a subject's versions with each other, a repair's
# schema with many subjects.
@lru_cache(maxsize=SCHEMA_CACHE)
def _parse(text: str) -> Schema:
    # Imported late, because it takes longer to load than all of srfix.serde, and few programs compare schemas.
    from avro.errors import AvroException
    from avro.name import Names
    from avro.schema import make_avsc_object

    names = Names(validate_names=False)
    try:
        parsed = make_avsc_object(json.loads(text, object_hook=_without_logical_type), names, False, False)
        for schema in names.names.values():
            _as_java_sees_it(schema)
    # For a missing or misplaced key, the library raises any Python exception.
    except (AvroException, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        what = "it nests too deep" if isinstance(error, RecursionError) else first_line
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


def _cannot_read(reader: Schema, writer: Schema) -> list[str]:
    result = CompatibilityChecker().check(reader, writer)
    # Reasons and places are two sets. They belong together only if each set has one element.
    places = result.places - {"/"} or {"/"}
    where = f" at {min(places)}" if len(result.reasons) == 1 == len(places) else ""
    return sorted(f"{reason}{where}." for reason in result.reasons)


def _compiled(text: str, references: tuple[str, ...]) -> Any:
    from srfix.serde.formats.protobuf.descriptors import compiled

    return compiled(text, references)


def _cannot_read_protobuf(reader: Any, writer: Any) -> list[str]:
    from srfix.serde.formats.protobuf.compatibility import cannot_read

    return cannot_read(reader, writer)


_FORMATS: Final[dict[str, tuple[Callable[[str, tuple[str, ...]], Any], Callable[[Any, Any], list[str]]]]] = {
    "AVRO": (lambda text, _: _parse(text), _cannot_read),
    "PROTOBUF": (_compiled, _cannot_read_protobuf),
}
"""By schema type: the function that parses a text, and the one that says why a reader cannot read a writer's payloads."""
COMPARED_TYPES: Final = tuple(_FORMATS)
"""The schema types that `incompatibilities` takes."""
