"""The parser for the grammar in `srfix.serde.columns.text`."""

from __future__ import annotations

from typing import Final, NoReturn

from srfix.serde.casing import declared_name
from srfix.serde.columns.tokens import RESERVED_WORDS, Token, next_token
from srfix.serde.columns.types import (
    MAX_NESTING,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    ScalarType,
    Struct,
)
from srfix.serde.errors import ColumnError
from srfix.serde.hints import nearest
from srfix.serde.java_ints import INT_MAX

_SCALARS: Final = {type_.value: type_ for type_ in ScalarType} | {
    "INT": ScalarType.INTEGER,
    "VARCHAR": ScalarType.STRING,
}
_SPARKS_SCALARS: Final = {
    "BINARY": ScalarType.BYTES,
    "BYTE": ScalarType.INTEGER,
    "CHAR": ScalarType.STRING,
    "CHARACTER": ScalarType.STRING,
    "FLOAT": ScalarType.DOUBLE,
    "LONG": ScalarType.BIGINT,
    "REAL": ScalarType.DOUBLE,
    "SHORT": ScalarType.INTEGER,
    "SMALLINT": ScalarType.INTEGER,
    "TIMESTAMP_LTZ": ScalarType.TIMESTAMP,
    "TINYINT": ScalarType.INTEGER,
}
"""Spark's type words that ksqlDB lacks → the types that `columns_from_spark` gives for them."""
_DECIMAL_WORDS: Final = ("DECIMAL", "DEC", "NUMERIC")
_SPARKS_DECIMAL: Final = (10, 0)
_CREATED: Final = ("OR", "SOURCE", "STREAM", "TABLE")
_TYPES: Final = ", ".join((*_SCALARS, "DECIMAL", "ARRAY", "MAP", "STRUCT"))


class Parser:
    def __init__(self, text: str, *, plain_names: bool = False) -> None:
        """With `plain_names`, a name ends at a blank and is taken unchanged, as `DESCRIBE` prints it."""
        self._text = text
        self._plain_names = plain_names
        self._token = next_token(text, 0)

    def whole(self) -> Columns:
        if self._keyword() == "CREATE" and declared_name(next_token(self._text, self._token.end).text) in _CREATED:
            return self._statement()
        if self._keyword() == "STRUCT" and next_token(self._text, self._token.end).text in ("<", "<>"):
            fields = self._struct(0).fields  # a StructType's simpleString wraps all columns in one struct
            if not fields:
                raise ColumnError("The column list is a STRUCT without fields. Name at least one column.")
            self._end("the end of the text")
            return fields
        if self._is("(") or self._is("["):
            columns, end = self._in_brackets(), "the end of the text"
        else:
            columns, end = self._listed(), "',' or the end of the text"
        self._end(end)
        return columns

    def type_alone(self) -> ColumnType:
        type_ = self._type(1)
        self._end("the end of the type")
        return type_

    def _listed(self) -> Columns:
        columns = [self._column()]
        while self._take(",") and not (self._token.kind == "end" or self._is(")") or self._is("]")):
            columns.append(self._column())
        return tuple(column for column in columns if column is not None)

    def _in_brackets(self) -> Columns:
        closing = ")" if self._advance().text == "(" else "]"
        columns = self._listed()
        self._expect(closing, instead=f"',' or {closing!r}")
        return columns

    def _end(self, expected: str) -> None:
        if self._token.kind != "end":
            self._fail(expected)

    def _statement(self) -> Columns:
        """`CREATE [OR REPLACE] [SOURCE] (STREAM | TABLE) [IF NOT EXISTS] name (…) [WITH (…)] [;]`."""
        self._advance()
        while self._take_word("OR", "REPLACE", "SOURCE"):
            pass
        if not self._take_word("STREAM", "TABLE"):
            self._fail("STREAM or TABLE after CREATE")
        while self._take_word("IF", "NOT", "EXISTS"):
            pass
        self._name("the name of the stream or table")
        if not self._is("("):
            self._fail("'(' and the columns; if the statement has none, paste the output of DESCRIBE instead")
        columns = self._in_brackets()
        if self._take_word("WITH"):
            self._expect("(")
            while not self._is(")") and self._token.kind != "end":
                self._advance()  # properties are not columns
            self._expect(")")
        self._take(";")
        self._end("the end of the statement")
        return columns

    # -- tokens

    def _advance(self) -> Token:
        token = self._token
        self._token = next_token(self._text, token.end)
        return token

    def _fail(self, expected: str) -> NoReturn:
        token = self._token
        where = "the end of the text" if token.kind == "end" else repr(token.text)
        ends = "" if expected.endswith("?") else "."
        raise ColumnError(f"The column list has {where} at character {token.start + 1}; expected {expected}{ends}")

    def _refuse_bare(self, what: str, kind: str, name: str) -> NoReturn:
        token = self._token
        raise ColumnError(
            f"{token.text} (character {token.start + 1} of the column list) {kind}. To use it as {what}, quote it: `{name}`."
        )

    def _is(self, sign: str) -> bool:
        return self._token.kind == "sign" and self._token.text == sign

    def _take(self, sign: str) -> bool:
        is_next = self._is(sign)
        if is_next:
            self._advance()
        return is_next

    def _expect(self, sign: str, *, instead: str | None = None) -> None:
        if not self._take(sign):
            self._fail(instead or repr(sign))

    def _keyword(self) -> str | None:
        return declared_name(self._token.text) if self._token.kind == "word" else None

    def _take_word(self, *words: str) -> str | None:
        keyword = self._keyword()
        if keyword not in words:
            return None
        self._advance()
        return keyword

    # -- columns

    def _column(self) -> Column | None:
        """A column; None for a column that a record's headers fill."""
        name = self._name("a column name")
        self._take(":")
        type_ = self._type(1)
        self._remarks()
        is_headers, namespace = self._headers(), self._namespace()
        self._remarks()
        return None if is_headers else Column(name, type_, namespace)

    def _headers(self) -> bool:
        keyword = self._take_word("HEADERS", "HEADER")
        if keyword == "HEADER":
            self._expect("(")
            if self._token.kind != "text":
                self._fail("the header's key, in quotes")
            self._advance()
            self._expect(")")
        return keyword is not None

    def _remarks(self) -> None:
        """Skips the words after a type in Spark's DDL, which make no difference here."""
        while keyword := self._take_word("NOT", "COMMENT"):
            if keyword == "NOT" and self._keyword() != "NULL":
                self._fail("NULL after NOT")
            if keyword == "COMMENT" and self._token.kind not in ("text", "quoted"):
                self._fail("a text in quotes after COMMENT")
            self._advance()

    def _name(self, what: str) -> str:
        token = self._token
        if self._plain_names and token.kind != "end":
            name = self._text[token.start :].split(maxsplit=1)[0]
            self._token = next_token(self._text, token.start + len(name))
            return name
        match token.kind:
            case "word":
                name = declared_name(token.text)
                if name in RESERVED_WORDS:
                    self._refuse_bare(what, "is a reserved word", name)
            case "quoted":
                quote = token.text[0]
                name = token.text[1:-1].replace(quote * 2, quote)
                if not name:
                    self._fail(f"{what} that is not empty")
            case "integer" | "number":
                self._refuse_bare(what, "is read as a number", token.text)
            case "variable":
                self._fail(f"{what}; variables are not substituted here")
            case _:
                self._fail(what)
        self._advance()
        return name

    def _namespace(self) -> Namespace:
        keyword = self._take_word("KEY", "PRIMARY")
        if keyword == "PRIMARY" and not self._take_word("KEY"):
            self._fail("KEY after PRIMARY")
        return {None: Namespace.VALUE, "KEY": Namespace.KEY, "PRIMARY": Namespace.PRIMARY_KEY}[keyword]

    # -- types

    def _type(self, depth: int) -> ColumnType:
        self._check_depth(depth)
        type_ = self._type_head(depth)
        while self._keyword() == "ARRAY":  # `INT ARRAY` is `ARRAY<INT>`
            depth += 1
            self._check_depth(depth)
            self._advance()
            type_ = Array(type_)
        return type_

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The column list nests deeper than {MAX_NESTING} levels at character {self._token.start + 1}. "
                "Flatten the innermost types."
            )

    def _type_head(self, depth: int) -> ColumnType:
        match self._keyword():
            case "ARRAY":
                (items,) = self._parts(1, depth)
                return Array(items)
            case "MAP":
                keys, values = self._parts(2, depth)
                return Map(values, keys)
            case "STRUCT":
                return self._struct(depth)
            case word if word in _DECIMAL_WORDS:
                return self._decimal()
            case _:
                return self._scalar()

    def _parts(self, count: int, depth: int) -> list[ColumnType]:
        self._advance()
        types: list[ColumnType] = []
        while len(types) < count:
            self._expect("," if types else "<")
            types.append(self._type(depth + 1))
        self._expect(">")
        return types

    def _struct(self, depth: int) -> Struct:
        self._advance()
        if self._is("<>"):
            self._fail("'<'; the empty STRUCT is written 'STRUCT< >'")
        self._expect("<")
        fields: list[Column] = []
        if not self._is(">"):
            fields.append(self._field(depth))
            while self._take(","):
                fields.append(self._field(depth))
        if self._keyword() in ("KEY", "PRIMARY"):
            self._fail("',' or '>'; a field of a STRUCT cannot be a key")
        self._expect(">", instead="',' or '>'")
        return Struct(tuple(fields))

    def _field(self, depth: int) -> Column:
        name = self._name("a field name")
        self._take(":")
        type_ = self._type(depth + 1)
        self._remarks()
        return Column(name, type_)

    def _decimal(self) -> Decimal:
        start = self._advance().start
        precision, scale = _SPARKS_DECIMAL
        if self._take("("):
            precision = self._integer("the precision")
            if self._take(","):
                scale = self._integer("the scale")
            self._expect(")", instead="',' or ')'")
        try:
            return Decimal(precision, scale)
        except ColumnError as error:
            raise ColumnError(f"{error.message} It is at character {start + 1}.") from error

    def _integer(self, what: str) -> int:
        sign = -1 if self._take("-") else 1
        digits = self._token.text.lstrip("0") or "0"
        if self._token.kind != "integer" or len(digits) > 10 or int(digits) > INT_MAX:
            self._fail(f"{what}, a whole number of at most {INT_MAX}")
        self._advance()
        return sign * int(digits)

    def _scalar(self) -> ScalarType:
        # A type's name is an identifier, quotes and all: `"int"` is INT.
        token = self._token
        is_word = token.kind in ("word", "quoted")
        word = declared_name(token.text[1:-1] if token.kind == "quoted" else token.text)
        type_ = _SCALARS.get(word) or _SPARKS_SCALARS.get(word) if is_word else None
        if type_ is None:
            near = nearest(word[:100], _SCALARS.keys() | {"ARRAY", "MAP", "STRUCT"})
            meant = f". Did you mean {near}?" if near and token.kind == "word" else ""
            self._fail(f"a type: {_TYPES}{meant}" if token.kind != "end" else "a type")
        self._advance()
        if self._take("("):
            self._parameter()
            while self._take(","):
                self._parameter()
            self._expect(")", instead="',' or ')'")
        return type_

    def _parameter(self) -> None:
        if self._token.kind != "integer" and self._keyword() != "STRING":
            self._fail("a whole number")
        self._advance()
