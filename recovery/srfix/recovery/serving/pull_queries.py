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
from typing import Any, ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from srfix.serde.casing import declared_name
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.schemas.models import Json


class _Ksql(Dialect):
    """Names in double quotes or backquotes; a text has no escapes except a doubled quote."""

    class Tokenizer(sqlglot.Tokenizer):
        IDENTIFIERS: ClassVar = ['"', "`"]


_OPERATORS: Final = {"neq": "ne", "gte": "ge", "lte": "le"}
"""Python's names for comparisons, where sqlglot has other ones."""
_GLOB: Final = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
MOST_SQL: Final = 16 << 10
_MOST_LIKE: Final = 500
_MOST_DIGITS: Final = 18
Row = Mapping[str, Any]
Condition = Callable[[Row], bool | None]
"""Whether a row fulfils a condition; None if a null leaves it open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullQuery:
    table: str
    columns: tuple[tuple[str, str] | None, ...]
    """The names of columns, each with its name in the answer; None for all columns."""
    keys: Mapping[str, tuple[Json, ...]]
    """For columns, the only values that a row can have, by conditions that all rows must fulfil."""
    condition: Condition | None
    limit: int | None
    names: frozenset[str] = frozenset()
    """The columns that the condition reads."""


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
        first = re.sub(r"\x1b\[[0-9;]*m", "", str(error).splitlines()[0])
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
    where, limit = select.args.get("where"), select.args.get("limit")
    return PullQuery(
        table=_name(source.this.this),
        columns=tuple(_columns(select.expressions)),
        keys={} if where is None else dict(_only(where.this)),
        condition=None if where is None else _condition(where.this),
        limit=None if limit is None else _count(limit.expression),
        names=frozenset() if where is None else frozenset(_name(column.this) for column in where.find_all(exp.Column)),
    )


def _name(node: exp.Expr) -> str:
    """ksqlDB's rule: upper case, unless it is quoted."""
    text = str(node.this)
    return text if node.args.get("quoted") else declared_name(text)


def _columns(expressions: Sequence[exp.Expr]) -> Iterator[tuple[str, str] | None]:
    for expression in expressions:
        column = expression.unalias()
        if column.is_star:
            yield None
        elif isinstance(column, exp.Column):
            name = _name(column.this)
            yield name, _name(expression.args["alias"]) if isinstance(expression, exp.Alias) else name
        else:
            raise UsageError(f"{expression.sql(dialect=_Ksql)[:80]} is no column. Give columns, or *.")


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


def value_in(row: Row, name: str) -> Any:
    """
    :raises SrfixError: if the row has an error in the place of the value: it is not a null.
    """
    value = row.get(name)
    if isinstance(value, SrfixError):
        raise value
    return value


def _value(node: exp.Expr) -> Callable[[Row], Any]:
    if isinstance(node.unnest(), exp.Column):
        name = _name(node.unnest().this)
        return lambda row: value_in(row, name)
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
        raise UsageError(f"{text[:40]!r} is no time such as 2020-02-23T23:45:12.000.") from None
    return round((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)
