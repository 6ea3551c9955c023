"""Columns as text: the grammar of ksqlDB's parser.

Sources: `SqlBase.g4` (tableElements, type, identifier, nonReserved and the lexer), `ParserUtil.getIdentifierText`,
`SqlTypeParser`, `SqlPrimitiveType`, `SqlDecimal`, `SqlStruct`, `IdentifierUtil`, `ReservedWordMetaTest`.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.serde import Column, ColumnError, Columns, Role, parse_columns, print_columns, spark_schema
from srfix.serde.arrow import arrow_schema
from srfix.serde.columns.half import half_of
from srfix.serde.columns.text import print_type
from srfix.serde.columns.tokens import RESERVED_WORDS, RESERVED_WORDS_SINCE, is_plain_name
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_NESTING,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    Struct,
)
from tests.strategies import column_types, columns

NON_RESERVED = """
    SHOW TABLES COLUMNS COLUMN PARTITIONS FUNCTIONS FUNCTION SESSION STRUCT MAP ARRAY PARTITION INTEGER DATE TIME TIMESTAMP
    INTERVAL ZONE STRING YEAR MONTH DAY HOUR MINUTE SECOND EXPLAIN ANALYZE TYPE TYPES SET RESET IF SOURCE SINK PRIMARY KEY
    EMIT CHANGES FINAL ESCAPE REPLACE ASSERT ALTER ADD HEADER HEADERS GRACE PERIOD DEFINE UNDEFINE VARIABLES PLUGINS SYSTEM
    TIMEOUT SCHEMA SUBJECT ID INT BIGINT VARCHAR BOOLEAN DOUBLE BYTES ROWKEY ROWTIME WINDOWSTART
""".split()  # noqa: SIM905 -- one line a word is no better
"""`nonReserved` of `SqlBase.g4`, and words that are no keywords at all."""

RESERVED = [
    "SELECT",
    "FROM",
    "DECIMAL",
    "END",
    "DAYS",
    "SIZE",
    "TOPIC",
    "VALUES",
    "LIST",
    "NAMESPACE",
    "WINDOW",
    "TRUE",
]


def the_type(text: str) -> ColumnType:
    (column,) = parse_columns(f"A {text}")
    return column.type


class TestTypes:
    @pytest.mark.parametrize(
        ("text", "type_"),
        [
            ("BOOLEAN", BOOLEAN),
            ("INT", INTEGER),
            ("integer", INTEGER),
            ("BIGINT", BIGINT),
            ("DOUBLE", DOUBLE),
            ("STRING", STRING),
            ("VARCHAR", STRING),
            ("BYTES", BYTES),
            ("DATE", DATE),
            ("TIME", TIME),
            ("TIMESTAMP", TIMESTAMP),
            ("DECIMAL(10,2)", Decimal(10, 2)),
            ("decimal ( 010 , 00 )", Decimal(10, 0)),
            ("DECIMAL(4, - 0)", Decimal(4, 0)),
            ("DECIMAL(2147483647, 0)", Decimal(2147483647, 0)),
            ("ARRAY < INT >", Array(INTEGER)),
            ("MAP<STRING, ARRAY<INT>>", Map(Array(INTEGER))),
            ("MAP<VARCHAR, MAP<STRING, INT>>", Map(Map(INTEGER))),
            ("STRUCT<b INT, `c` STRING>", Struct((Column("B", INTEGER), Column("c", STRING)))),
            # `SqlBase.g4`: `type ARRAY`.
            ("INT ARRAY", Array(INTEGER)),
            ("INT ARRAY array", Array(Array(INTEGER))),
            ("STRUCT<B INT ARRAY> ARRAY", Array(Struct((Column("B", Array(INTEGER)),)))),
            ("MAP<STRING, INT ARRAY>", Map(Array(INTEGER))),
            # `MAP '<' type ',' type '>'`: a map may have keys of any type; it is the formats that only take STRING.
            ("MAP<INT, STRING>", Map(STRING, INTEGER)),
            ("MAP<ARRAY<INT>, STRING>", Map(STRING, Array(INTEGER))),
            ("MAP<DECIMAL(3, 1), STRING>", Map(STRING, Decimal(3, 1))),
            # typeParameter: of a scalar they say nothing; `SqlTypeParser.getSqlType` looks at the name only.
            *((text, STRING) for text in ("VARCHAR(255)", "STRING(STRING)", "VARCHAR(1, 2)", "varchar ( 0255 )")),
            # `SqlTypeParser.baseTypeToString` takes any identifier, `SqlPrimitiveType.of` upper-cases it.
            *((text, INTEGER) for text in ("`INT`", '"INT"', "`int`", '"Integer"')),
        ],
    )
    def test_it_reads_each_type(self, text: str, type_: ColumnType) -> None:
        """`SqlPrimitiveType.TYPES` with its two aliases, and the composites of the rule `type`."""
        assert the_type(text) == type_

    @pytest.mark.parametrize("text", ["STRUCT< >", "STRUCT<\n>", "STRUCT</**/>"])
    def test_the_empty_struct_has_a_gap(self, text: str) -> None:
        """`SqlStruct.EMPTY_STRUCT`; the lexer takes `<>` for NEQ."""
        assert the_type(text) == Struct(())
        with pytest.raises(ColumnError, match=r"has '<>' at character 9; expected '<'; the empty STRUCT"):
            the_type("STRUCT<>")


class TestNames:
    def test_an_unquoted_name_is_upper_case_and_a_quoted_one_is_kept(self) -> None:
        """`ParserUtil.getIdentifierText`."""
        text = 'id INT, `caseField` INT, "b""c" INT, `d``e` INT, `f"g` INT, "h`i" INT, ```` INT'
        assert [column.name for column in parse_columns(text)] == ["ID", "caseField", 'b"c', "d`e", 'f"g', "h`i", "`"]

    @pytest.mark.parametrize("word", NON_RESERVED)
    def test_a_word_that_is_not_reserved_is_a_name(self, word: str) -> None:
        """`SqlBase.g4`: nonReserved."""
        text = f"{word} INT KEY, V STRUCT<{word} INT>"
        expected = (Column(word, INTEGER, Namespace.KEY), Column("V", Struct((Column(word, INTEGER),))))
        assert parse_columns(text) == expected
        assert print_columns(expected) == text.replace("INT>", "INTEGER>").replace("INT KEY", "INTEGER KEY")

    @pytest.mark.parametrize("word", sorted(RESERVED_WORDS))
    def test_a_reserved_word_is_a_name_in_quotes_only(self, word: str) -> None:
        """`ReservedWordMetaTest`."""
        with pytest.raises(
            ColumnError, match=rf"^{word} \(character 1 of the column list\) is a reserved word\. To use it as a column"
        ):
            parse_columns(f"{word} INT")
        with pytest.raises(ColumnError, match=rf"^{word.lower()} .* a field name, quote it: `{word}`"):
            parse_columns(f"A STRUCT<{word.lower()} INT>")
        assert parse_columns(f"`{word}` INT") == (Column(word, INTEGER),)
        assert print_columns((Column(word, INTEGER),)) == f"`{word}` INTEGER"

    def test_there_are_as_many_reserved_words_as_the_engine_has(self) -> None:
        """`ReservedWordMetaTest.RESERVED`, without the names of signs and of kinds of tokens."""
        assert len(RESERVED_WORDS) == 86
        assert RESERVED_WORDS.issuperset(RESERVED)
        assert RESERVED_WORDS.isdisjoint(NON_RESERVED)

    @pytest.mark.parametrize("word", sorted(RESERVED_WORDS_SINCE))
    def test_a_word_that_newer_versions_reserve_is_read_plain_and_written_in_quotes(self, word: str) -> None:
        """`SqlBase.g4` has them since 0.28.2; a statement that an older server prints has them without quotes."""
        assert RESERVED_WORDS_SINCE[word] == "7.3"
        assert parse_columns(f"{word} INT") == parse_columns(f"`{word}` INT") == (Column(word, INTEGER),)
        assert print_columns((Column(word, INTEGER),)) == f"`{word}` INTEGER"

    @pytest.mark.parametrize("name", ["A1", "_", "_A", "A@B", "1A", "1_", "0@", "1E5X", "12E", "A1E5"])
    def test_a_name_may_hold_these(self, name: str) -> None:
        """`SqlBase.g4`: IDENTIFIER and DIGIT_IDENTIFIER."""
        assert parse_columns(f"{name.lower()} INT") == (Column(name, INTEGER),)
        assert is_plain_name(name)

    @pytest.mark.parametrize("number", ["12", "1E5", "1e5", "1.5", ".5", "12.", "1.5E-3", "1E+5"])
    def test_what_reads_as_a_number_is_a_name_in_quotes_only(self, number: str) -> None:
        """`SqlBase.g4`: INTEGER_VALUE, DECIMAL_VALUE and FLOATING_POINT_VALUE stand before DIGIT_IDENTIFIER."""
        with pytest.raises(ColumnError, match=r"\(character 1 of the column list\) is read as a number"):
            parse_columns(f"{number} INT")
        (column,) = parse_columns(f"`{number}` INT")
        assert parse_columns(print_columns((column,))) == (column,)

    @pytest.mark.parametrize(("written", "name"), [("\u0131d", "ID"), ("\u017fize1", "SIZE1"), ("a\u0131", "AI")])
    def test_two_letters_outside_of_ascii_are_letters(self, written: str, name: str) -> None:
        """`CaseInsensitiveStream.LA` upper-cases each character before the lexer sees it."""
        assert parse_columns(f"{written} INT") == (Column(name, INTEGER),)
        assert not is_plain_name(written)

    @pytest.mark.parametrize(
        "character", ["\u0130", "\u212a", "é", "@", "#", "$", "\u0661", "\x0b", "\u00a0", "^", "?", "!"]
    )
    def test_other_characters_begin_no_name(self, character: str) -> None:
        with pytest.raises(ColumnError, match=r"has the character .* at character 1\. Quote names"):
            parse_columns(f"{character}A INT")


class TestNamespaces:
    def test_it_reads_keys(self) -> None:
        """`ParserUtil.getColumnConstraints`."""
        assert parse_columns("a INT KEY, b STRING key, c INT") == (
            Column("A", INTEGER, Namespace.KEY),
            Column("B", STRING, Namespace.KEY),
            Column("C", INTEGER),
        )
        assert parse_columns("a INT ARRAY PRIMARY KEY") == (Column("A", Array(INTEGER), Namespace.PRIMARY_KEY),)

    def test_what_is_filled_from_headers_is_left_out(self) -> None:
        """`Column.toString`: ` HEADERS`, ` HEADER('x')`; no key and no value holds such a column."""
        text = "`ID` INTEGER KEY, `H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS, `X` BYTES HEADER('x'), `V` STRING"
        assert parse_columns(text) == (Column("ID", INTEGER, Namespace.KEY), Column("V", STRING))

    def test_a_column_of_the_key_may_stand_again_among_the_values(self) -> None:
        """`LogicalSchema`'s builder looks for duplicates within a namespace; stores of aggregates and joins have such."""
        text = "`ID` BIGINT KEY, `ID` STRING, `KSQL_AGG_VARIABLE_0` BIGINT"
        columns = parse_columns(text)
        assert columns == (
            Column("ID", BIGINT, Namespace.KEY),
            Column("ID", STRING),
            Column("KSQL_AGG_VARIABLE_0", BIGINT),
        )
        assert half_of(columns, Role.KEY, None).columns == (Column("ID", BIGINT),)
        assert half_of(columns, Role.VALUE, None).columns == columns[1:]

    def test_one_half_has_each_name_once(self) -> None:
        with pytest.raises(ColumnError, match=r"^There are two columns of the value named 'A'"):
            parse_columns("A INT KEY, A INT, A INT")
        with pytest.raises(ColumnError, match=r"^There are two columns of the key named 'A'"):
            parse_columns("A INT KEY, B INT, A INT KEY")
        both = parse_columns("A INT KEY, A INT")
        for make in (spark_schema, arrow_schema):
            with pytest.raises(
                ColumnError, match=r"named 'A'.* is for keys or for values: give only the key's or only the"
            ):
                make(both)

    def test_a_field_of_a_struct_is_no_key(self) -> None:
        with pytest.raises(ColumnError, match=r"^The field 'A' of a STRUCT is declared a key"):
            Struct((Column("A", INTEGER, Namespace.KEY),))


class TestGaps:
    @pytest.mark.parametrize(
        "text",
        [
            " \t\r\nA\nINT\t, B INT ",
            "(A INT, B INT)",
            "[A INT, B INT]",
            "A INT, B INT,",
            "(A INT, B INT,\n)",
            "[A INT, B INT, ]",
            "-- the key\nA INT, B INT",
            "A INT, --@ directive\nB INT",
            "A /* the */ INT /* key\n, C INT */, B INT",
            "A INT, B INT -- the last",
            "A INT, B INT --x",
            "A INT,--\r\nB INT",
            "/**/A INT, B/***/INT",
        ],
    )
    def test_white_space_and_comments_are_skipped(self, text: str) -> None:
        """`SqlBase.g4`: WS, SIMPLE_COMMENT, DIRECTIVE_COMMENT, BRACKETED_COMMENT."""
        assert parse_columns(text) == (Column("A", INTEGER), Column("B", INTEGER))

    def test_a_comment_takes_the_character_behind_its_dashes_even_a_line_end(self) -> None:
        """`SqlBase.g4`: SIMPLE_COMMENT is `--`, then any one character but `@`, then all up to the line's end."""
        assert parse_columns("A INT --\n, B INT\n, C INT") == (Column("A", INTEGER), Column("C", INTEGER))


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"^The column list has the end of the text at character 1; expected a column name\.$"),
            ("A", r"^The column list has the end of the text at character 2; expected a type\.$"),
            ("A INT,,", r"has ',' at character 7; expected a column name\.$"),
            (",", r"has ',' at character 1; expected a column name\.$"),
            ("[A INT)", r"has '\)' at character 7; expected ',' or '\]'\.$"),
            ("[`A`, `B`]", r"has ',' at character 5; expected a type: "),
            ("-- key | value\nA MONEY", r"has 'MONEY' at character 18; expected a type: "),
            ("A INT B INT", r"has 'B' at character 7; expected ',' or the end of the text\.$"),
            ("A MONEY", r"has 'MONEY' at character 3; expected a type: BOOLEAN, INTEGER, .*, STRUCT\.$"),
            ("A SELECT", r"has 'SELECT' at character 3; expected a type: BOOLEAN, "),
            ("A `DECIMAL`(4, 2)", r"has '`DECIMAL`' at character 3; expected a type: BOOLEAN, "),
            ("A ARRAY", r"has the end of the text at character 8; expected '<'\.$"),
            ("A MAP INT", r"has 'INT' at character 7; expected '<'\.$"),
            ("A DECIMAL(1", r"has the end of the text at character 12; expected ',' or '\)'\.$"),
            ("A DECIMAL(x, 2)", r"has 'x' at character 11; expected the precision, .* of at most 2147483647\.$"),
            ("A DECIMAL(.1, 1)", r"has '\.1' at character 11; expected the precision, a whole number"),
            ("A DECIMAL(1, 1.1)", r"has '1\.1' at character 14; expected the scale, a whole number"),
            ("A DECIMAL(-1, 1)", r"^DECIMAL\(-1, 1\) is not a type: .* It is at character 3\.$"),
            ("A DECIMAL(-x, 1)", r"has 'x' at character 12; expected the precision, a whole number"),
            ("A DECIMAL(2147483648, 1)", r"has '2147483648' at character 11; expected the precision, a whole number"),
            ("A DECIMAL(" + "9" * 5000 + ", 1)", r"at character 11; expected the precision, a whole number"),
            ("A DECIMAL(2, 3)", r"^DECIMAL\(2, 3\) is not a type: .* It is at character 3\.$"),
            ("A DECIMAL(0, 0)", r"^DECIMAL\(0, 0\) is not a type: "),
            ("A VARCHAR(x)", r"has 'x' at character 11; expected a whole number\.$"),
            ("A VARCHAR(1", r"has the end of the text at character 12; expected ',' or '\)'\.$"),
            ("A ARRAY<INT", r"has the end of the text at character 12; expected '>'\.$"),
            ("A MAP<INT>", r"has '>' at character 10; expected ','\.$"),
            ("A STRUCT<B INT", r"has the end of the text at character 15; expected ',' or '>'\.$"),
            ("A STRUCT<foo VARCHAR,>", r"has '>' at character 22; expected a field name\.$"),
            ("A STRUCT<B INT, B INT>", r"^There are two fields of one STRUCT named 'B'"),
            ("A INT, a INT", r"^There are two columns named 'A'"),
            ("`` INT", r"has '``' at character 1; expected a column name that is not empty\.$"),
            ("`A INT", r"^The column list has a quote that is never closed at character 1\. "),
            ('A INT, "B', r"^The column list has a quote that is never closed at character 8\. "),
            ("A INT; B INT", r"has ';' at character 6; expected ',' or the end of the text\.$"),
            ("foo-bar INT", r"has '-' at character 4; expected a type: "),
            ("'A' INT", r"""has "'A'" at character 1; expected a column name\.$"""),
            ("${A} INT", r"has '\$\{A\}' at character 1; expected a column name; variables"),
            ("A INT PRIMARY", r"has the end of the text at character 14; expected KEY after PRIMARY\.$"),
            ("A INT KEY KEY", r"has 'KEY' at character 11; expected ',' or the end of the text\.$"),
            ("A STRUCT<B INT KEY>", r"has 'KEY' at character 16; expected ',' or '>'; a field of a STRUCT"),
            ("A BYTES HEADER(x)", r"has 'x' at character 16; expected the header's key, in quotes\.$"),
            ("A BYTES HEADER", r"has the end of the text at character 15; expected '\('\.$"),
            ("A BYTES HEADER('x')", r"^The column list is empty\. "),
            ("A INT KEY, B INT PRIMARY KEY", r"^The columns mix KEY and PRIMARY KEY\. A stream has KEY columns, a tab"),
            ("A INT /* the key", r"^The column list has a comment that is never closed at character 7\. "),
            ("A INT --", r"has '-' at character 7; expected ',' or the end of the text\.$"),
            ("(A INT", r"has the end of the text at character 7; expected ',' or '\)'\.$"),
            ("(A INT) B", r"has 'B' at character 9; expected the end of the text\.$"),
            ("A INT)", r"has '\)' at character 6; expected ',' or the end of the text\.$"),
        ],
    )
    def test_an_error_says_where_what_is_there_and_what_was_expected(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            parse_columns(text)

    def test_the_deepest_nesting_that_is_allowed_is_read(self) -> None:
        text = "A " + "ARRAY<" * (MAX_NESTING - 1) + "INT" + ">" * (MAX_NESTING - 1)
        assert parse_columns(print_columns(parse_columns(text))) == parse_columns(text)
        assert parse_columns("A INT" + " ARRAY" * (MAX_NESTING - 1)) == parse_columns(text)

    @pytest.mark.parametrize("opening", ["ARRAY<", "MAP<STRING, ", "MAP<", "STRUCT<A "])
    @pytest.mark.parametrize("depth", [MAX_NESTING, 100_000])
    def test_nesting_is_bounded(self, opening: str, depth: int) -> None:
        with pytest.raises(ColumnError, match=rf"nests deeper than {MAX_NESTING} levels at character"):
            parse_columns("A " + opening * depth + "INT" + ">" * depth)

    def test_nesting_from_behind_is_bounded_too(self) -> None:
        with pytest.raises(ColumnError, match=rf"nests deeper than {MAX_NESTING} levels at character 385\."):
            parse_columns("A INT" + " ARRAY" * 100_000)

    def test_nesting_from_both_sides_adds_up(self) -> None:
        with pytest.raises(ColumnError, match=rf"^The column types nest deeper than {MAX_NESTING} levels\."):
            parse_columns("A " + "ARRAY<" * 40 + "INT" + ">" * 40 + " ARRAY" * 40)

    @given(st.text(st.sampled_from("AB `\"<>()[],|1E.'-/*@\nINTSTRUCT MAPARRAYKEY"), max_size=40))
    @example("A STRUCT< >, B INT")
    @example("a - b | INT\nINT | INT")
    def test_any_text_is_columns_or_a_column_error(self, text: str) -> None:
        try:
            parsed = parse_columns(text)
        except ColumnError:
            return
        assert parse_columns(print_columns(parsed)) == parsed


KEYWORDS = st.sampled_from([*sorted(RESERVED_WORDS), *NON_RESERVED])
NASTY_NAMES = (
    KEYWORDS
    | KEYWORDS.map(str.lower)
    | st.from_regex(r"[0-9][0-9E@_.]{0,4}", fullmatch=True)
    | st.text(st.sampled_from("`\"'-/*\n ,<>()AaıſİK$@.\x00"), min_size=1, max_size=6)
)
"""Names that a printer is likely to get wrong."""


class TestPrintColumns:
    @given(columns, columns, st.sampled_from((Namespace.KEY, Namespace.PRIMARY_KEY)))
    def test_a_printed_schema_with_a_key_of_the_same_names_is_parsed_back(
        self, keys: Columns, values: Columns, namespace: Namespace
    ) -> None:
        declared = (*(replace(column, namespace=namespace) for column in keys), *keys[:1])
        declared += tuple(column for column in values if column.name != keys[0].name)
        assert parse_columns(print_columns(declared)) == declared

    @given(NASTY_NAMES, column_types(NASTY_NAMES), st.sampled_from(Namespace))
    @example("1E5", Struct(()), Namespace.KEY)
    def test_whatever_the_names_are_it_is_parsed_back(self, name: str, type_: ColumnType, namespace: Namespace) -> None:
        declared = (Column(name, type_, namespace), Column(name + "x", Map(INTEGER, type_)))
        assert parse_columns(print_columns(declared)) == declared

    @given(NASTY_NAMES)
    def test_it_quotes_nothing_that_needs_no_quotes(self, name: str) -> None:
        try:
            needed = parse_columns(f"{name} INT") != (Column(name, INTEGER),)
        except ColumnError:
            needed = True
        needed = needed or name in RESERVED_WORDS_SINCE  # newer versions need them
        # A line that ends within a comment or a name that holds a whole list reads as something else altogether.
        assert print_columns((Column(name, INTEGER),)).startswith("`") == needed

    def test_it_writes_each_type_in_full(self) -> None:
        declared = (
            Column("ID", INTEGER, Namespace.PRIMARY_KEY),
            Column("id", Array(INTEGER)),
            Column("a`b", Map(Decimal(3, 1), BIGINT)),
            Column("FROM", Struct((Column("X", Struct(())),))),
        )
        assert print_columns(declared) == (
            "ID INTEGER PRIMARY KEY, `id` ARRAY<INTEGER>, `a``b` MAP<BIGINT, DECIMAL(3, 1)>, `FROM` STRUCT<X STRUCT< >>"
        )
        assert print_type(declared[3].type) == "STRUCT<X STRUCT< >>"

    def test_columns_built_too_deep_are_refused(self) -> None:
        type_: ColumnType = INTEGER
        for _ in range(5_000):
            type_ = Array(type_)
        with pytest.raises(ColumnError, match=r"^The column types nest deeper than 64 levels\."):
            print_columns((Column("A", type_),))

    def test_no_columns_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^The column list is empty\."):
            print_columns(())


class TestColumn:
    def test_an_empty_name_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^A column has an empty name\."):
            Column("", INTEGER)

    @given(columns)
    def test_columns_travel_to_another_process(self, declared: Columns) -> None:
        assert pickle.loads(pickle.dumps(declared)) == declared


def test_a_misspelt_type_is_named() -> None:
    with pytest.raises(
        ColumnError, match=r"has 'BIGNIT' at character 4; expected a type: .*, STRUCT\. Did you mean BIGINT\?$"
    ):
        parse_columns("ID BIGNIT")
    with pytest.raises(ColumnError, match=r"expected a type: .*, STRUCT\. Did you mean STRUCT\?$"):
        parse_columns("ID ARRAY<STRCUT<A INT>>")
    with pytest.raises(ColumnError, match=r"expected a type: .*, STRUCT\.$"):
        parse_columns("ID XYZZY")
