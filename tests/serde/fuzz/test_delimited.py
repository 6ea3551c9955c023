"""Hostile and broken records of CSV, held against a reading of their own, character by character."""

from __future__ import annotations

import contextlib
from random import Random

from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import print_columns
from srfix.serde.deserializer import DelimitedDeserializer
from srfix.serde.errors import EncodeError
from srfix.serde.formats import delimited
from srfix.serde.specs import WriteSpec
from tests.serde.fuzz.delimited_reference import first_record, row_of
from tests.serde.fuzz.expected import Unfit, is_known
from tests.serde.fuzz.harness import Fuzz, drawn, seeds
from tests.serde.fuzz.mutations import CSV
from tests.serde.fuzz.strategies import DELIMITED_TYPES, RowsCase, rows_cases
from tests.serde.fuzz.topic import bare_reads

_cases = rows_cases(DELIMITED_TYPES, bare=False, may_extend=False)


class TestDelimited:
    @drawn(_cases, st.sampled_from((",", ",", ",", "|", "SPACE", "TAB", "1", "-", "é")), seeds)
    def test_a_row_is_what_the_record_says(self, fuzz: Fuzz, case: RowsCase, delimiter: str, random: Random) -> None:
        deserialize = DelimitedDeserializer(case.writer, delimiter=delimiter)
        encode = delimited.encoder(None, WriteSpec(columns=case.writer, case_rule=CaseRule.EXACT, delimiter=delimiter))
        bodies = []
        for row in case.rows:
            with contextlib.suppress(EncodeError):  # half a surrogate pair, U+FFFE
                bodies.append(encode(row, b""))
        about = f"{print_columns(case.writer)}, {delimiter}"
        for read in bare_reads(fuzz, random, deserialize, bodies or [b"1"], CSV, about=about):
            try:
                fields = first_record(read.body, delimited.delimiter_of(delimiter))
                expected = row_of(case.writer, fields)
            except Unfit as error:
                read.must_be_refused(str(error))
                continue
            if is_known(expected) or read.refusal is None:
                read.must_be(expected)
            if read.refusal is None:
                assert isinstance(read.row, dict)
                written = encode(read.row, b"")
                if written:
                    assert repr(deserialize(written, "t")) == repr(read.row), read.about()
