"""Pull queries of ksqlDB, as far as a store can answer them: columns, conditions on keys, windows and values, LIMIT.

sqlglot parses; this module says which of its trees are pull queries, and what they mean for a row.
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any, ClassVar, Final, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from srfix.serde.casing import CaseRule, declared_name, match_keys
from srfix.serde.columns.text import parse_columns, print_type
from srfix.serde.columns.types import parts_of
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.schemas.models import Json


class _Ksql(Dialect):
    """Names in double quotes or backquotes; a text has no escapes except a doubled quote."""

    class Tokenizer(sqlglot.Tokenizer):
        IDENTIFIERS: ClassVar = ['"', "`"]


_OPERATORS: Final = {"neq": "ne", "gte": "ge", "lte": "le"}
"""Python's names for comparisons, where sqlglot has other ones."""
_GLOB: Final = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
_PLACES: Final = (exp.Column, exp.JSONExtract, exp.Bracket)
MOST_SQL: Final = 16 << 10
_MOST_LIKE: Final = 500
_MOST_DIGITS: Final = 18
Row = Mapping[str, Any]
Condition = Callable[[Row], bool | None]
"""Whether a row fulfils a condition; None if a null leaves it open."""


class Place(NamedTuple):
    """A column, or a part of one."""

    column: str
    parts: tuple[tuple[str, str | int | None], ...] = ()
    """The part's name (`parts_of`), and the key of a map or the index in an array: from 1 on, or from -1 back."""

    def type_in(self, types: Mapping[str, str]) -> str:
        """
        :raises UsageError: if a table that has columns of these types lacks it.
        """
        if self.column not in types:
            raise UsageError(f"Column {self.column} cannot be resolved. The table has: {', '.join(types)}.")
        text = types[self.column]
        for name, _key in self.parts:
            parts = dict(parts_of(parse_columns(f"WHOLE {text}")[0].type))
            if name not in parts:
                raise UsageError(f"{name} cannot be resolved in {self.column}: it is no part of {text}.")
            text = print_type(parts[name])
        return text

    def value_in(self, row: Row) -> Any:
        """
        :raises SrfixError: if the row has an error in the place of the value: it is not a null.
        """
        value = row.get(self.column)
        if isinstance(value, SrfixError):
            raise value
        for name, key in self.parts:
            match value, key:
                case dict(), None:
                    value = value.get(match_keys([name], [*value], CaseRule.KSQLDB, where="a struct").get(name, name))
                case list(), int():
                    index = key - 1 if key > 0 else len(value) + key
                    value = value[index] if 0 <= index < len(value) else None
                case _:
                    value = value.get(key) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PullQuery:
    table: str
    columns: tuple[tuple[Place, str] | None, ...]
    """Columns and parts of them, each with its name in the answer; None for all columns."""
    keys: Mapping[str, tuple[Json, ...]]
    """For columns, the only values that a row can have, by conditions that all rows must fulfil."""
    condition: Condition | None
    limit: int | None
    places: frozenset[Place] = frozenset()
    """What the condition reads."""


def parse_pull_query(sql: str) -> PullQuery:
    """
    :raises UsageError: for a text that is no SQL, or more than a pull query.
    """
    if len(sql) > MOST_SQL:
        raise UsageError(f"A statement has at most {MOST_SQL:,} characters.")
    try:
        return _pull_query(sql)
    except SqlglotError as error:
        if re.search(r"(?i)\bEMIT\s+(CHANGES|FINAL)\b", sql):
            raise UsageError("This server answers pull queries only: leave out EMIT CHANGES.") from None
        first = re.sub(r"\x1b\[[0-9;]*m| for <class '[^']*'>", "", str(error).splitlines()[0])
        raise UsageError(f"The statement cannot be read: {first}") from None
    except RecursionError:
        raise UsageError("The statement cannot be read: it nests too deep.") from None


def _pull_query(sql: str) -> PullQuery:
    statements = [statement for statement in sqlglot.parse(sql, dialect=_Ksql) if statement is not None]
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise UsageError("This server answers one pull query at a time: SELECT … FROM table WHERE …;")
    select = statements[0]
    allowed = {"kind", "expressions", "from", "from_", "where", "limit"}
    extra = sorted(name for name, value in select.args.items() if value and name not in allowed)
    source = select.find(exp.From)
    if extra or source is None or not isinstance(source.this, exp.Table):
        clause = extra[0] if extra else "a table after FROM"
        raise UsageError(f"A pull query has columns, a table, WHERE and LIMIT; this one has {clause}.")
    for part in select.find_all(exp.JSONExtract):
        if isinstance(part.expression, exp.Column):  # a field is none
            part.set("expression", part.expression.this)
    where, limit = select.args.get("where"), select.args.get("limit")
    return PullQuery(
        table=_name(source.this.this),
        columns=tuple(_columns(select.expressions)),
        keys={} if where is None else dict(_only(where.this)),
        condition=None if where is None else _condition(where.this),
        limit=None if limit is None else _count(limit.expression),
        places=frozenset() if where is None else frozenset(map(_place, where.find_all(*_PLACES))),
    )


def _name(node: exp.Expr) -> str:
    """ksqlDB's rule: upper case, unless it is quoted."""
    text = str(node.this)
    return text if node.args.get("quoted") else declared_name(text)


def _columns(expressions: Sequence[exp.Expr]) -> Iterator[tuple[Place, str] | None]:
    unnamed = count()
    for expression in expressions:
        place = None if expression.is_star else _place(expression.unalias())
        if place is None:
            yield None
        elif isinstance(expression, exp.Alias):
            yield place, _name(expression.args["alias"])
        else:
            name, key = place.parts[-1] if place.parts else (place.column, None)
            yield place, name if key is None else f"KSQL_COL_{next(unnamed)}"


def _place(node: exp.Expr) -> Place:
    part: tuple[str, str | int | None]
    match node:
        case exp.Column():
            return Place(_name(node.this))
        case exp.JSONExtract(this=whole, expression=exp.Identifier() as field):
            part = _name(field), None
        case exp.Bracket(this=whole, expressions=[exp.Expr() as key]) if key.is_int or key.is_string:
            part = "ARRAY" if key.is_int else "MAP_VAL", _literal(key)
        case _:
            raise UsageError(f"{node.sql(dialect=_Ksql)[:80]} is no column. Give columns, parts of them, or *.")
    column, parts = _place(whole)
    return Place(column, (*parts, part))


def _count(node: exp.Expr) -> int:
    text = node.sql()
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise UsageError(f"LIMIT takes a number, not {text[:40]}.")
    return int(text)


def _only(node: exp.Expr) -> Iterator[tuple[str, tuple[Json, ...]]]:
    """Columns that have one of some values in every row that the condition takes."""
    node = node.unnest()
    if isinstance(node, exp.And):
        for operand in node.flatten():
            yield from _only(operand)
    elif isinstance(node, exp.EQ):
        for column, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(column, exp.Column) and other.find(exp.Column) is None:
                yield _name(column.this), (_literal(other),)
    elif isinstance(node, exp.In) and isinstance(node.this, exp.Column) and node.expressions:
        yield _name(node.this.this), tuple(map(_literal, node.expressions))


def _condition(node: exp.Expr) -> Condition:
    match node.unnest():
        case exp.And() | exp.Or() as node:
            decisive = isinstance(node, exp.Or)
            conditions = [_condition(operand) for operand in node.flatten()]  # a chain may be long
            return lambda row: _decided((condition(row) for condition in conditions), decisive)
        case exp.Not(this=denied):
            inner = _condition(denied)
            return lambda row: None if (holds := inner(row)) is None else not holds
        case exp.Is(this=one, expression=exp.Null()):
            value = _value(one)
            return lambda row: value(row) is None
        case exp.In(this=one, expressions=[_, *_] as others):
            return _is_one_of(_value(one), list(map(_literal, others)))
        case exp.Between(this=one, args={"low": low, "high": high}):
            return _condition(exp.GTE(this=one, expression=low).and_(exp.LTE(this=one, expression=high)))
        case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE() as node:
            left, right = _value(node.left), _value(node.right)
            compare = getattr(operator, _OPERATORS.get(node.key, node.key))
            return lambda row: _compared(compare, left(row), right(row))
        case exp.Escape(this=exp.Like() as like, expression=escape):
            return _is_like(like, str(_literal(escape)))
        case exp.Like() as like:
            return _is_like(like)
        case _:
            raise UsageError(f"This server cannot evaluate the condition {node.sql(dialect=_Ksql)[:80]}.")


def _decided(holds: Iterable[bool | None], decisive: bool) -> bool | None:
    """SQL's OR, for which one True decides, or AND, for which one False does."""
    found = set(holds)
    return decisive if decisive in found else None if None in found else not decisive


def _is_one_of(value: Callable[[Row], Any], literals: Sequence[Any]) -> Condition:
    texts = frozenset(literals) if all(isinstance(literal, str) for literal in literals) else None

    def condition(row: Row) -> bool | None:
        own = value(row)
        if texts is not None and isinstance(own, str):  # of thousands, at once
            return own in texts
        return _decided((_compared(operator.eq, own, literal) for literal in literals), True)

    return condition


def _is_like(node: exp.Like, escape: str = "") -> Condition:
    value, pattern, is_negated = _value(node.this), _literal(node.expression), bool(node.args.get("negate"))
    if not isinstance(pattern, str) or len(pattern) > _MOST_LIKE or len(escape) > 1:
        raise UsageError(f"LIKE takes a text of at most {_MOST_LIKE} characters, and ESCAPE takes one character.")
    characters = re.findall(f"(?s)({re.escape(escape)})?(.)", pattern)
    glob = "".join(each if escaped and each in "%_" else _GLOB.get(each, each) for escaped, each in characters)
    matches = re.compile(fnmatch.translate(glob)).match  # whose wildcards do not explode

    def condition(row: Row) -> bool | None:
        own = value(row)
        if not isinstance(own, str | None):
            raise UsageError(f"LIKE compares texts, and {node.this.sql(dialect=_Ksql)[:80]} is none.")
        return None if own is None else (matches(own) is not None) != is_negated

    return condition


def _value(node: exp.Expr) -> Callable[[Row], Any]:
    if isinstance(node.unnest(), _PLACES):
        return _place(node.unnest()).value_in
    literal = _literal(node)
    return lambda _row: literal


def _literal(node: exp.Expr) -> Any:
    value = node.unnest()
    if isinstance(value, exp.Neg) and isinstance(value.this, exp.Paren):
        value = exp.Neg(this=value.this.unnest())
    try:
        return value.to_py()
    except ValueError:
        raise UsageError(f"{node.sql(dialect=_Ksql)[:80]} is no value that this server can compare with.") from None


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case int(), str():  # milliseconds, and a time as text
            right = time_ms(right)
        case str(), int():
            left = time_ms(left)
        case (float(), Decimal()) | (Decimal(), float()):
            left, right = float(left), float(right)
    try:
        if isinstance(left, str) is isinstance(right, str):
            return bool(compare(left, right))
    except TypeError:
        pass
    raise UsageError(f"A {type(left).__name__} and a {type(right).__name__} cannot be compared.")


def time_ms(text: str) -> int:
    """ksqlDB's time texts: a month, a date, or date and time, with a zone or in UTC; milliseconds since the epoch."""
    try:
        moment = datetime.fromisoformat(f"{text}-01" if len(text) == len("2020-02") else text)
    except ValueError:
        raise UsageError(
            "A number can be compared with a number, or with a time such as 2020-02-23T23:45:12.000, "
            f"not with {text[:40]!r}."
        ) from None
    return round((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)
