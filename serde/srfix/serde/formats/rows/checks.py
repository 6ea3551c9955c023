"""The checks for types with parts. The fast way compares the Python types of all values at once in C; the careful way
accepts other letter cases, fills in missing values, and collects every misfit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import AmbiguousFieldError
from srfix.serde.formats.rows.value_check import MISSING, NULL, Convert, Misfit, ValueCheck
from srfix.serde.java_ints import INT_MAX, INT_MIN

_MAX_SHAPES: Final = 512
"""How many tuples of value types, and of row keys, a record remembers. Rows with other shapes use the careful way."""

_MAX_SHAPE_BYTES: Final = payload_bounds().shape_bytes // payload_bounds().shapes * 8
"""Larger sets of row keys are not remembered."""
_Of = TypeVar("_Of")

_Pick: TypeAlias = Callable[[Mapping[str, object]], tuple[object, ...]]
_NONE_TYPE: Final = type(None)
_NO_CONSTANTS: Final[Mapping[str, object]] = MappingProxyType({})


class _Recipe(NamedTuple):
    """The remaining steps for rows whose values have certain Python types."""

    as_it_is: bool
    """True if there are no steps: the values are ready for the writer, if the narrow integers fit."""
    narrow: tuple[int, ...]
    """Integers that must fit 32 bits, by their positions. The other lists also have the schema's names."""
    nulls: Mapping[str, object]
    """Nulls in nullable unions, in the writer's form."""
    plain: tuple[tuple[str, int], ...]
    tagged: tuple[tuple[str, int, str], ...]
    """Like `plain` in nullable unions, with the branch."""
    checked: tuple[tuple[str, int, Convert], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    """One field of a record."""

    name: str
    """Its name in the row."""
    field: str
    """Its name in the schema."""
    check: ValueCheck
    when_missing: object
    """The value that is written if the row lacks the field, in the writer's form; `MISSING` if there is none."""


class _Way(NamedTuple):
    """How the values of a row are taken."""

    pick: _Pick
    """Gives the values in the fields' order; raises KeyError if the row spells its keys differently."""
    is_renamed: bool
    """True if the keys are not the schema's names."""


class RecordCheck:
    """Mapping → dict by field name."""

    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._match = _remembering(self._match_keys)
        self._ways = _remembering(self._way_of)
        self._recipes: dict[tuple[type, ...], _Recipe] = {}
        self.set_fields(())

    def set_fields(self, fields: Iterable[FieldCheck], constants: Mapping[str, object] = _NO_CONSTANTS) -> None:
        """The fields, in the schema's order. Not in the constructor, because a record may contain itself."""
        self._fields = tuple(fields)
        self._constants = dict(constants)
        self._count = len(self._fields)
        self._names = frozenset(part.name for part in self._fields)
        self._schema_names = tuple(part.field for part in self._fields)
        self._way = self._way_by([part.name for part in self._fields])

    @property
    def check(self) -> ValueCheck:
        return ValueCheck(fast=self.fast, careful=self.careful)

    def fast(self, row: object) -> object:
        if type(row) is not dict or len(row) != self._count:
            return self.careful(row)
        # Read only once, because another thread may change the way in the meantime.
        pick, is_renamed = self._way
        try:
            values = pick(row)
        except KeyError:
            way = self._ways(tuple(row))
            if way is None:
                return self.careful(row)
            # The next row probably has the same spelling.
            self._way = pick, is_renamed = way
            values = pick(row)
        shape = tuple(map(type, values))
        try:
            as_it_is, narrow, nulls, plain, tagged, checked = self._recipes[shape]
        except KeyError:
            if len(self._recipes) >= _MAX_SHAPES:
                return self.careful(row)
            self._recipes[shape] = self._recipe(shape)
            return self.fast(row)
        for place in narrow:
            if not INT_MIN <= values[place] <= INT_MAX:  # type: ignore[operator]  # an int, as the recipe says
                return self.careful(row)
        if as_it_is and not is_renamed:
            return row
        if is_renamed:
            written = {field: values[place] for field, place in plain}
        else:
            written = row.copy()
        if nulls:
            written.update(nulls)
        for field, place, tag in tagged:
            written[field] = (tag, values[place])
        for field, place, check in checked:
            written[field] = check(values[place])
        if self._constants:
            written.update(self._constants)
        return written

    def _recipe(self, shape: tuple[type, ...]) -> _Recipe:
        narrow: list[int] = []
        nulls: dict[str, object] = {}
        plain: list[tuple[str, int]] = []
        tagged: list[tuple[str, int, str]] = []
        checked: list[tuple[str, int, Convert]] = []
        for place, (part, kind) in enumerate(zip(self._fields, shape, strict=True)):
            check = part.check
            if check.tag is not None and kind is _NONE_TYPE:
                nulls[part.field] = NULL
                continue
            if check.exact is None or kind is not check.exact:
                checked.append((part.field, place, check.fast))
                continue
            if check.is_narrow:
                narrow.append(place)
            if check.tag is not None:
                tagged.append((part.field, place, check.tag))
            else:
                plain.append((part.field, place))
        as_it_is = not (nulls or tagged or checked or self._constants)
        return _Recipe(as_it_is, tuple(narrow), nulls, tuple(plain), tuple(tagged), tuple(checked))

    def careful(self, row: object) -> object:
        if not isinstance(row, Mapping):
            raise Misfit.needs("a mapping", row)
        bad: list[tuple[str, str]] = []
        if not self._names.issuperset(row):
            matched, unknown = self._match(tuple(row))
            bad.extend(unknown)
            row = {name: row[key] for name, key in matched.items()}
        written: dict[str, object] = {}
        for part in self._fields:
            value = row.get(part.name, MISSING)
            try:
                written[part.field] = part.check.careful(value) if value is not MISSING else _missing(part)
            except Misfit as misfit:
                bad.extend(misfit.under(f"->{part.name}"))
        if bad:
            raise Misfit(bad)
        written.update(self._constants)
        return written

    def renamed(self, row: dict[str, object]) -> dict[str, object] | None:
        """A row with differently spelt keys, renamed to the fields' names; None unless each key has a field."""
        way = self._ways(tuple(row))
        return None if way is None else dict(zip((part.name for part in self._fields), way.pick(row), strict=True))

    def _way_of(self, keys: tuple[object, ...]) -> _Way | None:
        """The way for rows with these keys; None unless each key has a field and each field has a key."""
        try:
            matched, unknown = self._match_keys(keys)
        except Misfit:
            return None
        return (
            None
            if unknown or len(matched) < self._count
            else self._way_by([matched[part.name] for part in self._fields])
        )

    def _way_by(self, keys: list[str]) -> _Way:
        return _Way(picker(keys), keys != list(self._schema_names))

    def _match_keys(self, keys: tuple[object, ...]) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
        names = [key for key in keys if isinstance(key, str)]
        columns = [part.name for part in self._fields]
        try:
            matched = match_fields(columns, names, self._case_rule, where="the row")
        except AmbiguousFieldError as error:
            raise Misfit([("", f"has keys that are ambiguous: {error.message}")]) from error
        used = set(matched.values())
        unknown = tuple((f"->{key}", "feeds no column or field") for key in keys if key not in used)
        return matched, unknown


def record_of(case_rule: CaseRule, checks: Mapping[str, ValueCheck]) -> RecordCheck:
    """A record whose fields have the same names in rows and in the schema. One that a row lacks is None."""
    record = RecordCheck(case_rule)
    record.set_fields(
        FieldCheck(name=name, field=name, check=check, when_missing=None) for name, check in checks.items()
    )
    return record


def _remembering(of_keys: Callable[[tuple[object, ...]], _Of]) -> Callable[[tuple[object, ...]], _Of]:
    """The function with a cache for the latest sets of keys. A cache would keep large sets alive."""
    remembered = lru_cache(maxsize=_MAX_SHAPES)(of_keys)

    def of(keys: tuple[object, ...]) -> _Of:
        if sum(map(sys.getsizeof, keys)) > _MAX_SHAPE_BYTES:
            return of_keys(keys)
        return remembered(keys)

    return of


def _missing(part: FieldCheck) -> object:
    if part.when_missing is MISSING:
        raise Misfit([("", "is missing, but the schema has no default for it")])
    return part.when_missing


def picker(names: Sequence[str]) -> _Pick:
    """Picks the values of these names as a tuple."""
    return cast("_Pick", itemgetter(*names)) if len(names) > 1 else lambda row: tuple(row[name] for name in names)


def array_check(items: ValueCheck) -> ValueCheck:
    check, tag = items.fast, items.tag
    exact = None if items.is_narrow else items.exact

    def fast(values: object) -> object:
        if type(values) is not list:
            return careful(values)
        if exact is not None and set(map(type, values)) == {exact}:
            return values if tag is None else [(tag, value) for value in values]
        return [check(value) for value in values]

    def careful(values: object) -> object:
        if not isinstance(values, list | tuple):
            raise Misfit.needs("a list", values)
        return _check_each((f"[{number}]" for number in range(len(values))), values, items.careful)

    return ValueCheck(fast=fast, careful=careful)


def map_check(values: ValueCheck, *, null_keys: bool = False) -> ValueCheck:
    """Mapping with string keys → dict. If entries' keys may be null, None is also allowed as a key."""
    key_types = {str, _NONE_TYPE} if null_keys else {str}
    check_key: Convert = (lambda key: None if key is None else _string_key(key)) if null_keys else _string_key
    check, tag = values.fast, values.tag
    exact = None if values.is_narrow else values.exact

    def fast(mapping: object) -> object:
        if type(mapping) is not dict or not set(map(type, mapping)) <= key_types:
            return careful(mapping)
        if exact is not None and set(map(type, mapping.values())) == {exact}:
            return mapping if tag is None else {key: (tag, value) for key, value in mapping.items()}
        return {key: check(value) for key, value in mapping.items()}

    def careful(mapping: object) -> object:
        if not isinstance(mapping, Mapping):
            raise Misfit.needs("a mapping with string keys", mapping)
        paths = [f"->{key}" for key in mapping]
        keys = _check_each(paths, mapping, check_key)
        return dict(zip(keys, _check_each(paths, mapping.values(), values.careful), strict=True))

    return ValueCheck(fast=fast, careful=careful)


def entries_check(key: ValueCheck, value: ValueCheck, *, null_keys: bool = False) -> ValueCheck:
    """A mapping or a list of entries → a list of entries. A key may be None with `null_keys`, or with a union."""
    mapping = map_check(value, null_keys=null_keys or key.tag is not None)

    def as_entries(values: object, check_key: Convert) -> object:
        entries = cast("dict[str, object]", values).items()
        return [{"key": check_key(name), "value": part} for name, part in entries]

    def fast(values: object) -> object:
        if type(values) is dict:
            return as_entries(mapping.fast(values), key.fast)
        if type(values) is not list or not all(type(entry) is dict and len(entry) == 2 for entry in values):
            return careful(values)
        try:
            return [{"key": key.fast(entry["key"]), "value": value.fast(entry["value"])} for entry in values]
        except KeyError:
            return careful(values)

    def careful(values: object) -> object:
        if not isinstance(values, list | tuple):
            return as_entries(mapping.careful(values), key.careful)
        return _check_each((f"[{number}]" for number in range(len(values))), values, careful_entry)

    def careful_entry(entry: object) -> object:
        if not isinstance(entry, Mapping) or entry.keys() != {"key", "value"}:
            raise Misfit.needs("a map entry: a mapping of 'key' and 'value'", entry)
        return {"key": key.careful(entry["key"]), "value": value.careful(entry["value"])}

    return ValueCheck(fast=fast, careful=careful)


def _string_key(key: object) -> object:
    if isinstance(key, str):
        return key
    raise Misfit.needs("a string as its key", key)


def _check_each(paths: Iterable[str], values: Iterable[object], check: Convert) -> list[object]:
    written: list[object] = []
    bad: list[tuple[str, str]] = []
    for path, value in zip(paths, values, strict=True):
        try:
            written.append(check(value))
        except Misfit as misfit:
            bad.extend(misfit.under(path))
    if bad:
        raise Misfit(bad)
    return written
