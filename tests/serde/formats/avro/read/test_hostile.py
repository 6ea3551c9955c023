"""Bodies that claim more than they hold, and one that is read though it has a number too large. `tests/serde/fuzz/test_avro.py`
breaks bodies in all other ways, held against a strict decoder.
"""

from __future__ import annotations

import json
import tracemalloc

import pytest

from srfix.serde import CaseRule, DecodeError, TruncatedBodyError, parse_columns
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.specs import ReadSpec
from tests.serde.avro_schemas import array, body, decimal, map_of, record


@pytest.mark.parametrize("columns", ["V INT", None])
def test_an_int_of_33_bits_is_skipped_in_what_no_column_asks_for(columns: str | None) -> None:
    schema = json.dumps(record("N", v="int", more=array("N")))
    declared = None if columns is None else parse_columns(columns)
    read = decoder(schema, ReadSpec(columns=declared, case_rule=CaseRule.KSQLDB))
    written = bytes.fromhex("02" + "02" + "808080802000" + "00")
    if columns is not None:
        assert read(written, 0) == {"V": 1}
        return
    with pytest.raises(DecodeError, match="which needs more than 32 bits"):
        read(written, 0)


class TestHugeClaims:
    @pytest.mark.parametrize("size", [2**31 - 1, 2**40, 2**62, 2**63 - 1])
    @pytest.mark.parametrize("type_", ["string", "bytes", array("int"), array("string"), map_of("int"), decimal(4, 2)])
    def test_a_few_bytes_that_claim_a_lot_allocate_nothing(self, type_: object, size: int) -> None:
        read = decoder(json.dumps(record(f=type_)), ReadSpec())
        claim = body("long", size)
        with pytest.raises(TruncatedBodyError):
            read(claim, 0)
        tracemalloc.start()
        try:
            with pytest.raises(TruncatedBodyError):
                read(claim, 0)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("columns", [None, "F ARRAY<INT>", "G INT"])
    def test_millions_of_items_without_bytes_are_refused(self, columns: str | None) -> None:
        schema = json.dumps(record(f=array(record("Empty")), g="int"))
        declared = None if columns is None else parse_columns(columns)
        read = decoder(schema, ReadSpec(columns=declared, case_rule=CaseRule.KSQLDB))
        with pytest.raises(DecodeError, match=r"At f.*, the body claims 5,000,000 array items of zero bytes"):
            read(body("long", 5_000_000) + b"\x00\x00", 0)


def test_a_body_that_ends_within_a_map_says_so_by_the_path_that_other_errors_have() -> None:
    read = decoder(json.dumps(record(M=map_of("long"))), ReadSpec())
    with pytest.raises(TruncatedBodyError, match=r"inside M->MAP_VAL:"):
        read(b"\x02\x02a", 0)
