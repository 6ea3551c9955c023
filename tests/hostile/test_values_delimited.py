"""Records of CSV that want more of the reader than their size pays for. Kinds 1, 7."""

from __future__ import annotations

import pytest

from tests.hostile.attack import judge
from tests.hostile.test_values_avro import PEAK, rows
from tests.hostile.test_values_json import decode

BAD: dict[str, tuple[str, bytes, bytes]] = {
    # name: columns, a good body, the hostile one
    "900,000 fields": ("A INT, B STRING", b"1,a", b"," * 900_000),
    "900,000 quotes": ("A INT, B STRING", b"1,a", b'1,"' + b'"' * 900_000),
    "450,000 lines behind the row": ("A INT, B STRING", b"1,a", b"1,a" + b"\nx" * 450_000 + b'\n"'),
    "900,000 empty lines": ("A INT, B STRING", b"1,a", b"\n" * 900_000),
    "white space behind a quote": ("A INT, B STRING", b"1,a", b'1,"a"' + b" " * 900_000 + b"x"),
    "300,000 digits, BIGINT": ("A BIGINT, B STRING", b"1,a", b"9" * 300_000 + b",a"),
    "300,000 digits, DOUBLE": ("A DOUBLE, B STRING", b"1,a", b"9" * 300_000 + b"." + b"9" * 300_000 + b",a"),
    "an exponent of 10^9, DECIMAL": ("A DECIMAL(38, 18), B STRING", b"1,a", b"1E999999999,a"),
    "300,000 zeros behind the point": ("A DECIMAL(38, 2), B STRING", b"1,a", b"0." + b"0" * 300_000 + b"1,a"),
    "base64 of 900,000": ("A BYTES, B STRING", b"AA==,a", b"A" * 900_001 + b",a"),
    "no UTF-8": ("A INT, B STRING", b"1,a", b"1,\xff"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_record_that_wants_too_much_hides_no_good_one(name: str) -> None:
    columns, good, bad = BAD[name]
    done = judge(decode(columns, good, bad, good, b'"', good, form="delimited"), codes=(1,), most=1 << 20, peak=PEAK)
    read = rows(done)
    assert len(read) == 3, done.stderr[-2000:]
    assert read.count(read[0]) == 3
