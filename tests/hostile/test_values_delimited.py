"""Records of CSV that want more of the reader than their size pays for. Kinds 1, 7."""

from __future__ import annotations

import json

import pytest

from tests.hostile.attack import attack, judge
from tests.hostile.test_values_avro import PEAK, rows
from tests.hostile.test_values_json import decode
from tests.telling import slow_but

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


DELIMITERS = (
    *("", "ab", "\n", "\r", '"', "\x1b", "\x7f", "é", "\U0001f600", "\u2028", " ", "\t", "\\", "#", "'", "0", "-", "."),
    *("TAB", "SPACE", "x" * 100_000),
)


@pytest.mark.parametrize("delimiter", slow_but(DELIMITERS, "\n", '"', "0", "TAB"), ids=lambda each: ascii(each)[:20])
def test_a_delimiter_ends_in_rows_that_come_back_or_in_a_sentence(delimiter: str) -> None:
    columns = ("--format", "delimited", "--columns", "A INT, B STRING, C DOUBLE", "--delimiter", delimiter)
    written = [
        {"A": -70, "B": f'a{delimiter}"b', "C": 0.5},
        {"A": 0, "B": delimiter, "C": None},
        {"A": None, "B": "#\r\n'\x00\x1b]0;x\x07", "C": -1e300},
    ]
    done = attack("encode", *columns, "--as", "hex", stdin="".join(json.dumps(row) + "\n" for row in written).encode())
    judge(done, codes=(0, 2), peak=PEAK)
    assert max(map(len, done.err.splitlines()), default=0) < 20_000
    if done.returncode == 2:
        judge(attack("decode", *columns, "--payload", "hex:2d37"), codes=(2,), peak=PEAK)
        return
    lines = b"".join(b"hex:" + line + b"\n" for line in done.out.splitlines())
    back = judge(attack("decode", *columns, "--payload", "-", "--output", "json", stdin=lines), codes=(0,), peak=PEAK)
    assert rows(back) == written
