"""Whether one Avro schema reads what another wrote: Java's `SchemaCompatibility`, over the parsed schemas of Apache Avro.

As the library's own checker, in a bounded time. That one compares each branch of a union with each of the other's, and
copies all that it has found at each step. Here a named branch is compared with those of its name alone, as no other reads it;
each pair of types is compared once; and what is said is cut off. Who compares more pairs than any real schemas have gets a
SchemaError.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.bounds import COMPATIBILITY_PAIRS, COMPATIBILITY_REASONS
from srfix.serde.errors import SchemaError

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
"""Reader's type → what else it reads."""
_SHOWN_CHARACTERS: Final = 200
_SHOWN_SYMBOLS: Final = 20


@dataclass(frozen=True, slots=True)
class CompatibilityResult:
    """What stands in the way; nothing if the reader reads all that the writer may have written."""

    reasons: frozenset[str] = frozenset()
    """Why not, in parts of sentences; at most `COMPATIBILITY_REASONS`."""
    places: frozenset[str] = frozenset()
    """Where in the reader's schema."""

    @property
    def reads(self) -> bool:
        """True if nothing stands in the way."""
        return not self.reasons


_READS: Final = CompatibilityResult()


class CompatibilityChecker:
    """One comparison of two schemas. `compared` counts its pairs of types."""

    def __init__(self) -> None:
        self.compared = 0
        self._known: dict[tuple[int, int], CompatibilityResult] = {}
        self._branches: dict[int, dict[str, list[Schema]]] = {}

    def check(self, reader: Schema, writer: Schema) -> CompatibilityResult:
        """Whether the reader reads what the writer wrote."""
        try:
            return self._pair(reader, writer, ("/",))
        except RecursionError:
            raise SchemaError("The schemas nest too deep to be compared.") from None

    def _pair(self, reader: Schema, writer: Schema, place: tuple[str, ...]) -> CompatibilityResult:
        key = (id(reader), id(writer))
        known = self._known.get(key)
        if known is not None:
            return known
        self.compared += 1
        if self.compared > COMPATIBILITY_PAIRS:
            raise SchemaError(
                f"The schemas have more than {COMPATIBILITY_PAIRS:,} pairs of types to compare, references followed "
                "(srfix.serde.bounds.COMPATIBILITY_PAIRS)."
            )
        self._known[key] = _READS  # where a type leads back to itself
        found = self._known[key] = self._compare(reader, writer, place)
        return found

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
        """The branches that may read what a type wrote, in their order: no named one reads a type of another name."""
        branches = self._branches.get(id(union))
        if branches is None:
            branches = self._branches[id(union)] = _by_name(cast("UnionSchema", union).schemas)
        if writer.type not in _NAMED:
            return branches[""]
        named = cast("NamedSchema", writer)
        both = (*branches[f"name {named.name}"], *branches[f"alias {named.fullname}"])
        return [each for each in dict.fromkeys(both) if each.type == writer.type]


def _by_name(branches: Iterable[Schema]) -> dict[str, list[Schema]]:
    found: dict[str, list[Schema]] = defaultdict(list)
    for branch in branches:
        if branch.type in _NAMED:
            found[f"name {cast('NamedSchema', branch).name}"].append(branch)
            for alias in _aliases(branch):
                found[f"alias {alias}"].append(branch)
        else:
            found[""].append(branch)
    return found


def _aliases(named: Schema | Field) -> list[str]:
    aliases = named.props.get("aliases")
    return [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []


def _all(results: Iterable[CompatibilityResult]) -> CompatibilityResult:
    reasons: set[str] = set()
    places: set[str] = set()
    for result in results:
        # Beyond the limit nothing is gathered, but all is compared: the result of each pair is remembered.
        if len(reasons) < COMPATIBILITY_REASONS:
            reasons |= result.reasons
            places |= result.places
    if not reasons:
        return _READS
    kept = sorted(reasons)[:COMPATIBILITY_REASONS]
    return CompatibilityResult(frozenset(kept), frozenset(sorted(places)[:COMPATIBILITY_REASONS]))


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
