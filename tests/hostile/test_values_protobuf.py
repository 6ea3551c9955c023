"""Protobuf that wants more of the reader than its size pays for: bodies, message indexes, schemas, names, rows. Kinds 1, 7."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from tests.hostile.attack import Done, attack, judge
from tests.hostile.test_values_avro import PEAK, hides_no_good_one, rows
from tests.hostile.test_values_json import decode
from tests.telling import slow_but

P2, P3 = 'syntax = "proto2"; ', 'syntax = "proto3"; '
FIRST = b"\x00"
"""The message indexes of a schema's first message."""
READABLE = 20_000
"""The most bytes of a line on standard error: the command cuts what it says about one payload or one schema."""


def varint(number: int) -> bytes:
    """An unsigned number of Protobuf, of any size."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def part(field: int, content: bytes) -> bytes:
    """A string, bytes or message in a field."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def nested(levels: int, field: int = 1) -> bytes:
    body = b""
    for _ in range(levels):
        body = part(field, body)
    return body


def structs(levels: int) -> bytes:
    """A `google.protobuf.Struct` with one field that holds a Struct with one field, and so on."""
    body = b""
    for _ in range(levels):
        body = part(1, part(1, b"k") + part(2, part(5, body)))
    return body


def indexes(*of: int) -> bytes:
    """Message indexes: zigzag numbers, their count first."""
    return b"".join(varint(n << 1 if n >= 0 else -n * 2 - 1) for n in (len(of), *of))


def short(done: Done, lines: int = 10) -> Done:
    """Fails unless a person can read what it said on standard error; returns it."""
    said = done.err.splitlines()
    assert len(said) <= lines, done.stderr[:3_000]
    assert max(map(len, said), default=0) < READABLE, f"{[len(line) for line in said]}\n{done.stderr[:3_000]}"
    return done


def message(fields: str, *, head: str = P3, more: str = "") -> str:
    return f"{head}{more} message R {{ {fields} }}"


WIDE = " ".join(f"int64 f{i} = {i + 1};" for i in range(1_000))
STRINGS = " ".join(f"string f{i} = {i + 1};" for i in range(1_000))
DECIMAL = message("confluent.type.Decimal d = 1;", more='import "confluent/type/decimal.proto";')
DATE = message("google.type.Date d = 1;", more='import "google/type/date.proto";')
TIME = message("google.type.TimeOfDay d = 1;", more='import "google/type/timeofday.proto";')
STAMP = message("google.protobuf.Timestamp d = 1;", more='import "google/protobuf/timestamp.proto";')
STRUCT = message(
    "google.protobuf.Struct s = 1; google.protobuf.Any a = 2;",
    more='import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";',
)
LIST = message("R next = 1; int32 n = 2; repeated R many = 3; map<string, R> m = 4;")
ENUM = message("repeated E e = 1;", more="enum E { " + "Z" * 50_000 + " = 0; Y = 1; }")

BAD: dict[str, tuple[str, bytes, bytes, str, str | tuple[str | None, str | None, str | None] | None]] = {
    # name: schema, a good body, the hostile one, the columns that read both, and what is said of it; None if it is read.
    # Of three, the first is without columns, the second under the case rule `unique`, the third under `ksqldb`.
    "a string of 2^62": (message("string s = 1;"), part(1, b"x"), b"\x0a" + varint(1 << 62) + b"x", "S STRING", "Wire format was corrupt"),
    "a string of -1": (message("string s = 1;"), part(1, b"x"), b"\x0a" + b"\xff" * 9 + b"\x01x", "S STRING", "Wire format was corrupt"),
    "a length without end": (message("string s = 1;"), part(1, b"x"), b"\x0a" + b"\xff" * 300_000, "S STRING", "Wire format was corrupt"),
    "a number without end": (message("int64 n = 1;"), number(1, 1), b"\x08" + b"\x80" * 900_000 + b"\x01", "N BIGINT", "Wire format was corrupt"),
    "a field number without end": (message("int64 n = 1;"), number(1, 1), b"\x88" * 900_000, "N BIGINT", "Wire format was corrupt"),
    "field 0": (message("int64 n = 1;"), number(1, 1), b"\x00\x01" * 100, "N BIGINT", "Wire format was corrupt"),
    "wire types 6 and 7": (message("int64 n = 1;"), number(1, 1), b"\x0e\x01\x0f\x01", "N BIGINT", "Wire format was corrupt"),
    "450,000 fields that nobody knows": (message("int64 n = 1;"), number(1, 1), b"\x10\x01" * 450_000, "N BIGINT", None),
    "unknown groups, 100,000 deep": (message("int64 n = 1;"), number(1, 1), b"\x13" * 100_000 + b"\x14" * 100_000, "N BIGINT", "Wire format was corrupt"),
    "unknown groups, 90 deep": (message("int64 n = 1;"), number(1, 1), b"\x13" * 90 + b"\x14" * 90, "N BIGINT", None),
    "the end of a group alone": (message("int64 n = 1;"), number(1, 1), b"\x14" * 1_000, "N BIGINT", "Wire format was corrupt"),
    "groups of a group, 100,000 deep": (message("optional group G = 1 { optional R r = 2; } optional int32 n = 3;", head=P2), b"", b"\x0b" * 100_000, "N INT", "Wire format was corrupt"),
    "messages 20,000 deep": (LIST, number(2, 1), nested(20_000), "N INT", "MaxDepth"),
    "messages 99 deep": (LIST, number(2, 1), nested(99), "N INT", None),
    "messages in maps, 5,000 deep": (LIST, number(2, 1), nested(5_000, 4), "N INT", None),
    "450,000 empty messages, wide": (message(f"repeated W w = 1; message W {{ {WIDE} }}"), b"", b"\x0a\x00" * 450_000, "W ARRAY<STRUCT<F1 BIGINT, F2 BIGINT>>", "need more memory than"),
    "450,000 empty messages of texts": (message(f"repeated W w = 1; message W {{ {STRINGS} }}"), b"", b"\x0a\x00" * 450_000, "W ARRAY<STRUCT<F1 STRING, F2 STRING>>", "need more memory than"),
    "450,000 entries under one key": (message("map<string, int64> m = 1;"), b"", b"\x0a\x00" * 450_000, "M MAP<STRING, BIGINT>", None),
    "50,000 keys": (message("map<string, int64> m = 1;"), b"", b"".join(part(1, part(1, b"%d" % i)) for i in range(50_000)), "M MAP<STRING, BIGINT>", None),
    "450,000 entries of wide messages": (message(f"map<string, W> m = 1; message W {{ {WIDE} }}"), b"", b"\x0a\x00" * 450_000, "M MAP<STRING, STRUCT<F1 BIGINT>>", "need more memory than"),
    "30,000 wide entries of many keys": (message(f"map<int32, W> m = 1; message W {{ {WIDE} }}"), b"", b"".join(part(1, number(1, i)) for i in range(30_000)), "M MAP<STRING, STRUCT<F1 BIGINT>>", "need more memory than"),
    "900,000 packed booleans": (message("repeated bool b = 1;"), b"", part(1, b"\x01" * 900_000), "B ARRAY<BOOLEAN>", None),
    "900,000 names of 50,000 characters": (ENUM, b"", part(1, b"\x00" * 900_000), "E ARRAY<STRING>", "The rows of the body have more than"),
    "900,000 packed that end within": (message("repeated fixed64 b = 1;"), b"", part(1, b"\x01" * 899_999), "B ARRAY<BIGINT>", "Wire format was corrupt"),
    "a oneof that changes 450,000 times": (message("oneof o { int32 a = 1; int32 b = 2; }"), number(1, 1), b"\x08\x01\x10\x01" * 225_000, "O_0 STRUCT<A INT, B INT>", None),
    "a message merged 300,000 times": (message("W w = 1; message W { repeated int32 n = 1; }"), b"", part(1, number(1, 1)) * 200_000, "W STRUCT<N ARRAY<INT>>", None),
    "text that is no UTF-8": (message("string s = 1;"), part(1, b"x"), part(1, b"\xed\xa0\x80" * 100_000), "S STRING", "String field had bad UTF-8"),
    "text that is no UTF-8, proto2": (message("optional string s = 1;", head=P2), part(1, b"x"), part(1, b"\xff" * 900_000), "S STRING", ("is not UTF-8", "is not UTF-8", None)),
    "a key that is no UTF-8, proto2": (message("map<string, string> m = 1;", head=P2), b"", part(1, part(1, b"\xff") + part(2, b"\xff")), "M MAP<STRING, STRING>", "A key of the map m is not UTF-8"),
    "control characters": (message("string s = 1;"), part(1, b"x"), part(1, b"\x1b]0;owned\x07\x00\x7f\xc2\x9b"), "S STRING", None),
    "2^64-1": (message("uint64 n = 1;"), number(1, 1), number(1, (1 << 64) - 1), "N BIGINT", (None, "unsigned number that no column can hold", None)),
    "-2^63": (message("int64 n = 1;"), number(1, 1), number(1, 1 << 63), "N BIGINT", None),
    "2^40 in 32 bits": (message("int32 n = 1;"), number(1, 1), number(1, 1 << 40), "N INT", None),
    "2^31 of an enum": (message("E e = 1;", more="enum E { Z = 0; }"), b"", number(1, 1 << 31), "E STRING", None),
    "NaN and infinity": (message("float f = 1; double g = 2;"), b"", b"\x0d\x00\x00\xc0\x7f\x11\x00\x00\x00\x00\x00\x00\xf0\xff", "F DOUBLE, G DOUBLE", None),
    "a decimal of 900,000 bytes": (DECIMAL, part(1, part(1, b"\x01")), part(1, part(1, b"\x7f" * 900_000)), "D DECIMAL(38, 2)", (None, "does not fit the column type DECIMAL(38, 2)", "does not fit the column type DECIMAL(38, 2)")),
    "a decimal of scale 2^31-1": (DECIMAL, part(1, part(1, b"\x01")), part(1, part(1, b"\x01") + number(3, 2**31 - 1)), "D DECIMAL(38, 2)", (None, "an impossible scale", "an impossible scale")),
    "a decimal of scale -2^31": (DECIMAL, part(1, part(1, b"\x01")), part(1, part(1, b"\x01") + number(3, -(2**31))), "D DECIMAL(38, 2)", (None, "an impossible scale", "an impossible scale")),
    "a decimal of precision 2^32-1": (DECIMAL, part(1, part(1, b"\x01")), part(1, part(1, b"\x01") + number(2, 2**32 - 1)), "D DECIMAL(38, 2)", (None, "an impossible precision", "an impossible precision")),
    "300,000 decimals of nothing": (message("repeated confluent.type.Decimal d = 1;", more='import "confluent/type/decimal.proto";'), b"", part(1, b"") * 300_000, "D ARRAY<DECIMAL(38, 2)>", (None, "a decimal without bytes", "a decimal without bytes")),
    "a day of the year 2^31-1": (DATE, b"", part(1, number(1, 2**31 - 1) + number(2, 12) + number(3, 31)), "D DATE", (None, "does not fit the column type DATE", "does not fit the column type DATE")),
    "a day of the year -2^31": (DATE, b"", part(1, number(1, -(2**31)) + number(2, 12) + number(3, 31)), "D DATE", (None, "is before 1582-10-15", "is not a day of the calendar")),
    "a month of 2^31-1": (DATE, b"", part(1, number(1, 2026) + number(2, 2**31 - 1) + number(3, -(2**31))), "D DATE", (None, "is not a day of the calendar", "is not a day of the calendar")),
    "a time of -2^31": (TIME, b"", part(1, number(1, -(2**31)) + number(4, 2**31 - 1)), "D TIME", (None, "is not a time of day", "is not a time of day")),
    "an instant of 2^63-1": (STAMP, b"", part(1, number(1, (1 << 63) - 1) + number(2, 2**31 - 1)), "D TIMESTAMP", (None, "is not an instant of the years 1 to 9999", "is not an instant of the years 1 to 9999")),
    "an instant of -2^63": (STAMP, b"", part(1, number(1, 1 << 63) + number(2, -(2**31))), "D TIMESTAMP", (None, "is not an instant of the years 1 to 9999", "is not an instant of the years 1 to 9999")),
    "a Struct 30 deep": (STRUCT, part(2, part(1, b"x")), part(1, structs(30)), "A STRUCT<TYPE_URL STRING>", None),
    "a Struct 20,000 deep": (STRUCT, b"", part(1, structs(20_000)), "A STRUCT<TYPE_URL STRING>", "MaxDepth"),
    "a Struct's key that is no UTF-8": (STRUCT, b"", part(1, nested(90)), "A STRUCT<TYPE_URL STRING>", "String field had bad UTF-8"),
    "an Any of nobody": (STRUCT, b"", part(2, part(1, b"type.googleapis.com/" + b"x" * 100_000) + part(2, b"\xff" * 100_000)), "A STRUCT<TYPE_URL STRING>", None),
    "a required field that is not there": (message("required int64 n = 1; optional int32 m = 2;", head=P2), number(1, 1), number(2, 1), "N BIGINT", "lacks fields that its schema requires: n"),
}  # fmt: skip


def between(schema: str, good: bytes, bad: bytes, tmp_path: Path, *more: str, framed: bool = True) -> Done:
    (tmp_path / "s.proto").write_text(schema, encoding="utf-8", errors="surrogatepass")
    lines = [FIRST + good, bad if not framed else FIRST + bad, FIRST + good, b"\xff" * 11, FIRST + good]
    return attack(
        *("decode", "--format", "protobuf", "--schema", f"@{tmp_path / 's.proto'}", "--output", "json", *more),
        *("--payload", "-"),
        stdin=b"".join(b"hex:" + line.hex().encode() + b"\n" for line in lines),
    )


class TestBodies:
    @pytest.mark.parametrize(
        "name", slow_but(BAD, "messages 20,000 deep", "450,000 empty messages, wide", "2^64-1", "an instant of 2^63-1")
    )
    @pytest.mark.parametrize("rule", ["", "unique", "ksqldb"], ids=lambda rule: rule or "without columns")
    def test_one_that_wants_too_much_hides_no_good_one(self, name: str, rule: str, tmp_path: Path) -> None:
        schema, good, bad, columns, said = BAD[name]
        more = ("--columns", columns, "--case-rule", rule) if rule else ()
        done = judge(between(schema, good, bad, tmp_path, *more), codes=(1,), most=60 << 20, peak=PEAK)
        short(done)
        hides_no_good_one(done, said[["", "unique", "ksqldb"].index(rule)] if isinstance(said, tuple) else said)

    @pytest.mark.parametrize(
        "front",
        [
            b"",
            indexes(1),
            indexes(2**31 - 1),
            indexes(-1),
            indexes(-(2**31)),
            indexes(*(0,) * 31),
            indexes(*(0,) * 40),
            varint(2 * 10**6) + b"\x00" * 900_000,
            varint(2 * 32) + b"\xfe\xff\xff\xff\x0f" * 32,
            varint(1),
            varint(2**32 - 1),
            b"\xff" * 900_000,
            b"\x02" + b"\x80" * 900_000,
        ],
        ids=lambda front: f"{front[:8].hex()} {len(front)}",
    )
    def test_indexes_that_name_no_message_are_one_bad_row(self, front: bytes, tmp_path: Path) -> None:
        schema, good = message("int64 n = 1; message I { int64 o = 2; }"), number(1, 7)
        for more in ((), ("--columns", "N BIGINT")):
            done = judge(between(schema, good, front + good, tmp_path, *more, framed=False), codes=(1,), peak=PEAK)
            short(done)
            assert len(rows(done)) == 3
            assert rows(done).count(rows(done)[0]) == 3


KEYS = {
    "int32": (number(1, -1), "-1"),
    "uint64": (number(1, 2**64 - 1), str(2**64 - 1)),
    "bool": (number(1, 1), "true"),
}
"""The type of a map's keys → a key in a body, and in JSON."""


@pytest.mark.parametrize("type_", KEYS)
class TestKeysThatAreNoTexts:
    @staticmethod
    def under(type_: str) -> tuple[str, ...]:
        return "--format", "protobuf", "--schema", message(f"map<{type_}, int32> m = 1;")

    def test_they_are_texts_in_columns(self, type_: str) -> None:
        key, text = KEYS[type_]
        body = FIRST + part(1, key + number(2, 7))
        done = attack("decode", *self.under(type_), "--columns", "M MAP<STRING, INT>", "--payload", "hex:" + body.hex())
        if type_ == "uint64":  # as other numbers beyond BIGINT
            assert b"OutOfRangeError" in judge(done, codes=(1,)).err
        else:
            assert judge(done, codes=(0,)).lines == [{"M": {text: 7}}]

    def test_without_columns_they_are_printed(self, type_: str) -> None:
        key, text = KEYS[type_]
        body = FIRST + part(1, key + number(2, 7))
        done = attack("decode", *self.under(type_), "--payload", "hex:" + body.hex())
        assert judge(done, codes=(0,)).lines == [{"m": {text: 7}}]

    def test_without_columns_they_are_written(self, type_: str) -> None:
        _, text = KEYS[type_]
        done = attack("encode", *self.under(type_), json.dumps({"m": {text: 7}}))
        judge(done, codes=(0,))


NO_NAMES = ["", " ", ".", "..", "R.", ".R", "a..b", "R" * 100_000, "R." * 50_000, "ConnectDefault", "google.protobuf.Any", "R\n", "\x1b]0;x\x07", "é", "\u202eR", "__class__", "1R", "R;message E{}"]  # fmt: skip
TAKEN = {" ", "ConnectDefault", "google.protobuf.Any", "R\n", "__class__"}
"""Those that a schema made from columns may have, without blanks around them."""


class TestFullNames:
    @pytest.mark.parametrize("name", slow_but(NO_NAMES, "", "R" * 100_000, "\x1b]0;x\x07"))
    def test_the_name_of_no_message_is_a_sentence(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "s.proto").write_text(message("int64 N = 1;", more='import "google/protobuf/any.proto";'))
        under = ("--format", "protobuf", "--full-name", name)
        lacks = "The schema has no message" if name else "--full-name is empty"
        refused = "is not a name of a Protobuf message" if name else "--full-name is empty"
        is_long = name == "R" * 100_000  # only the compiler has a limit
        for arguments, said in (
            (("encode", *under, "--schema", f"@{tmp_path / 's.proto'}", '{"N": 1}'), lacks),
            (("encode", *under, "--schema", f"@{tmp_path / 's.proto'}", "--columns", "N BIGINT", '{"N": 1}'), lacks),
            (("encode", *under, "--columns", "N BIGINT", '{"N": 1}'), "Name too long" if is_long else refused),
            (("schema", *under, "N BIGINT"), refused),
            (("schema", *under, "N BIGINT", "--output", "json"), refused),
        ):
            is_taken = said is refused and (name in TAKEN or is_long)
            done = judge(attack(*arguments), codes=(0,) if is_taken else (2,), peak=PEAK)
            short(done)
            assert is_taken or said in done.stderr


def doubling(levels: int) -> str:
    """A schema of a few lines whose first message has 2 ** levels parts."""
    inner = " ".join(f"message D{n} {{ D{n + 1} a = 1; D{n + 1} b = 2; }}" for n in range(levels))
    return f"{P3}{inner} message D{levels} {{ int32 n = 1; }}"


def descriptor(change: Any) -> str:
    """A schema in base64, as confluent-kafka registers it, which no compiler has looked at."""
    file = FileDescriptorProto(name="x.proto", syntax="proto3")
    file.message_type.add(name="R").field.add(name="n", number=1, type=3, label=1)
    change(file)
    return base64.b64encode(file.SerializeToString()).decode()


TEXTS: dict[str, tuple[str, bytes]] = {
    # name: the schema, a body
    "nothing": ("", b""),
    "not Protobuf": ('{"type":"record","name":"R","fields":[]}', b""),
    "900,000 brackets": ("{" * 900_000, b""),
    "900,000 times nothing": (" " * 900_000, b""),
    "no letters": ("\x00\x1b[2J\x07" * 1_000, b""),
    "half a surrogate": (message("string s = 1;") + " // \ud800", b""),
    "a name of 900,000": (f"{P3}message {'R' * 900_000} {{}}", b""),
    "a field of 900,000": (message(f"int32 {'n' * 900_000} = 1;"), b""),
    "a type of 900,000": (message(f"{'T' * 900_000} n = 1;"), b""),
    "5,000 mistakes": (message(" ".join(f"Nope{i} n{i} = {i + 1};" for i in range(5_000))), b""),
    "20,000 fields": (message(" ".join(f"int32 n{i} = {i + 1};" for i in range(20_000))), number(1, 1)),
    "20,000 messages": (P3 + " ".join(f"message R{i} {{ int32 n = 1; }}" for i in range(20_000)), number(1, 1)),
    "50,000 values": (message("E e = 1;", more="enum E { " + " ".join(f"V{i} = {i};" for i in range(50_000)) + " }"), number(1, 49_999)),
    "5,000 oneofs": (message(" ".join(f"oneof o{i} {{ int32 n{i} = {i + 1}; }}" for i in range(5_000))), number(1, 1)),
    "messages 2,000 deep": ("message R { " * 2_000 + "}" * 2_000, b""),
    "messages 30 deep": (P3 + "message R { " * 30 + "}" * 30, b""),
    "an option 100,000 deep": (P3 + "option (o) = { " + "m { " * 100_000, b""),
    "a default of 900,000": (message(f'optional string s = 1 [default = "{"x" * 900_000}"];', head=P2), b""),
    "a default of 2^64": (message("optional int32 s = 1 [default = 18446744073709551616];", head=P2), b""),
    "a field number of 10^400": (message("int32 n = 1" + "0" * 400 + ";"), b""),
    "reserved to the end": (message("reserved 2 to max; extensions 5 to max; int32 n = 1;", head=P2), b""),
    "a file": (f'{P3}import "/etc/passwd"; message R {{}}', b""),
    "a file above": (f'{P3}import "../../../../etc/passwd"; message R {{}}', b""),
    "a device": (f'{P3}import "/dev/zero"; message R {{}}', b""),
    "itself": (f'{P3}import "srfix_schema.proto"; message R {{}}', b""),
    "an import with an escape": (P3 + 'import "\\033]0;x\\007"; message R {}', b""),
    "10,000 imports of nothing": (P3 + " ".join(f'import "x{i}.proto";' for i in range(10_000)) + " message R {}", b""),
    "10,000 imports of google/type": (P3 + " ".join(f'import "google/type/x{i}.proto";' for i in range(10_000)) + " message R {}", b""),
    "all that is known": (P3 + "".join(f'import "google/{name}.proto";' for name in ("type/date", "type/money", "protobuf/any", "protobuf/descriptor", "protobuf/struct", "protobuf/api")) + message("google.protobuf.FileDescriptorProto f = 1;", head=""), part(1, part(1, b"x"))),
    "itself alone": (message("R r = 1; repeated R s = 2; map<string, R> t = 3;"), nested(3)),
    "two that hold each other": (P3 + "message R { Q q = 1; } message Q { R r = 1; }", nested(2)),
    "300 that double": (doubling(300), nested(20)),
    "25 that double": (doubling(25), nested(20)),
    "a message set": (message("option message_set_wire_format = true; extensions 4 to max;", head=P2), b"\x0b\x10\x04\x1a\x00\x0c"),
    "of the year 2023": ('edition = "2023"; message R { R r = 1 [features.message_encoding = DELIMITED]; string s = 2 [features.utf8_validation = NONE]; }', b"\x0b\x0c" + part(2, b"\xff")),
    "of the year 99999": ('edition = "99999_TEST_ONLY"; message R { int32 n = 1; }', b""),
    "proto4": ('syntax = "proto4"; message R { int32 n = 1; }', b""),
    "a map in a map": (message("map<string, map<string, int32>> m = 1;"), b""),
    "a map with a key that is a message": (message("map<R, int32> m = 1;"), b""),
    "a descriptor with fields of one number": (descriptor(lambda file: file.message_type[0].field.add(name="o", number=1, type=3, label=1)), b""),
    "a descriptor with Python": (descriptor(lambda file: setattr(file.message_type[0].field[0], "name", "n or __import__('os').abort()")), b""),
    "a descriptor of a type that is none": (descriptor(lambda file: setattr(file.message_type[0].field[0], "type_name", ".google.protobuf.Nope")), b""),
    "a descriptor with 5,000 levels of names": (descriptor(lambda file: setattr(file, "package", "a." * 5_000 + "b")), b""),
    "a descriptor that imports a file": (descriptor(lambda file: file.dependency.append("/etc/passwd")), b""),
    "a descriptor whose oneof is none": (descriptor(lambda file: setattr(file.message_type[0].field[0], "oneof_index", 2**31 - 1)), b""),
    "base64 of a bomb": (base64.b64encode(nested(20_000, 4)).decode(), b""),
    "base64 of anything": (base64.b64encode(b"\xff" * 300_000).decode(), b""),
}  # fmt: skip


class TestSchemas:
    @pytest.mark.parametrize(
        "name",
        slow_but(TEXTS, "not Protobuf", "a field of 900,000", "messages 2,000 deep", "a file", "300 that double"),
    )
    def test_a_text_ends_in_rows_or_in_a_sentence(self, name: str, tmp_path: Path) -> None:
        schema, body = TEXTS[name]
        for more in ((), ("--columns", "N INT, S STRING")):
            done = judge(
                between(schema, body, body, tmp_path, *more), codes=(0, 1, 2), peak=PEAK, secrets=("root:x:0",)
            )
            short(done)
        path = f"@{tmp_path / 's.proto'}"
        for more in ((), ("--columns", "n INT"), ("--full-name", "R")):
            done = judge(
                attack("encode", "--format", "protobuf", "--schema", path, *more, "{}"),
                codes=(0, 1, 2),
                peak=PEAK,
                secrets=("root:x:0",),
            )
            short(done)

    @pytest.mark.parametrize("name", slow_but(TEXTS, "300 that double"))
    def test_a_text_that_is_to_be_registered_is_looked_at_with_the_same_care(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "s.proto").write_text(TEXTS[name][0], encoding="utf-8", errors="surrogatepass")
        done = attack("guard", "--subject", "a-value", "--schema", tmp_path / "s.proto")
        judge(done, codes=(0, 1, 2), peak=PEAK, secrets=("root:x:0",))
        short(done)


class TestRows:
    @pytest.mark.parametrize(
        ("columns", "row"),
        [
            ("A DECIMAL(38, 2)", '{"A": 1e999999999}'),
            ("A DECIMAL(38, 2)", '{"A": "' + "9" * 100_000 + '"}'),
            ("A BIGINT", '{"A": ' + "9" * 100_000 + "}"),
            ("A BIGINT", '{"A": 9223372036854775808}'),
            ("A INT", '{"A": -2147483649}'),
            ("A DOUBLE", '{"A": 1e400}'),
            ("A DOUBLE", '{"A": {"$double": "NaN"}}'),
            ("A STRING", '{"A": "\\ud800"}'),
            ("A MAP<STRING, INT>", '{"A": {"\\udfff": 1}}'),
            ("A STRING", "[" * 100_000),
            ("A TIMESTAMP", '{"A": {"$timestamp": "999999999-01-01T00:00:00Z"}}'),
            ("A TIMESTAMP", '{"A": 253402300800000}'),
            ("A TIMESTAMP", '{"A": -62135596800001}'),
            ("A DATE", '{"A": -2147483648}'),
            ("A DATE", '{"A": 2147483647}'),
            ("A TIME", '{"A": 86400000}'),
            ("A BYTES", '{"A": {"$bytes": "!!!!"}}'),
            ("A ARRAY<INT>", '{"A": [' + "null," * 100_000 + "null]}"),
            ("A STRING", '{"A": {"$object": ' * 30_000 + "1" + "}}" * 30_000),
        ],
        ids=lambda case: case[:40],
    )
    @pytest.mark.parametrize("form", ["protobuf", "protobuf_nosr"])
    def test_what_is_to_be_written_under_columns_is_read_with_the_same_care(
        self, columns: str, row: str, form: str
    ) -> None:
        good = '{"A": null}'
        for more in ((), ("--nullable-representation", "wrapper")):
            done = attack(
                *("encode", "--format", form, "--columns", columns, *more), stdin=f"{good}\n{row}\n{good}\n".encode()
            )
            judge(done, codes=(0, 1, 2), peak=PEAK)
            short(done)
            if done.returncode != 2:
                assert len(done.out.splitlines()) in (2, 3)

    @pytest.mark.parametrize(
        ("schema", "row"),
        [
            (LIST, '{"next": ' * 30_000 + "{}" + "}" * 30_000),
            (LIST, '{"next": ' * 300 + "{}" + "}" * 300),
            (LIST, '{"m": {"k": ' * 200 + "{}" + "}}" * 200),
            (LIST, '{"many": [' * 60 + '{"many": [{}, {}]}' + "]}" * 60),
            (LIST, '{"m": {' + ",".join(f'"k{i}": {{}}' for i in range(100_000)) + "}}"),
            (LIST, '{"many": {"a": 1}}'),
            (LIST, '{"next": [1, 2]}'),
            (LIST, '{"n": true}'),
            (LIST, '{"n": "7"}'),
            (LIST, '{"n": 1.5}'),
            (LIST, '{"n": 4294967296}'),
            (LIST, '{"HasField": 1}'),
            (LIST, '{"": 1}'),
            (LIST, '{"' + "x" * 300_000 + '": 1}'),
            (LIST, '{"\\u001b]0;x\\u0007": 1}'),
            (LIST, '{"\\ud800": 1}'),
            (LIST, "[]"),
            (LIST, "1"),
            (ENUM, '{"e": ["' + "x" * 300_000 + '"]}'),
            (ENUM, '{"e": [99999999999]}'),
            (STRUCT, '{"s": ' + '{"a": ' * 5_000 + "1" + "}" * 5_000 + "}"),
            (STRUCT, '{"s": ' + '{"a": ' * 28 + "1" + "}" * 28 + "}"),
            (STRUCT, '{"s": {"fields": {"x": {"numberValue": 1}}}}'),
            (STRUCT, '{"a": {"@type": "type.googleapis.com/google.protobuf.Any", "value": {}}}'),
            (STAMP, '{"d": {"seconds": 9223372036854775807, "nanos": -1}}'),
            (STAMP, '{"d": "2026-01-01T00:00:00Z"}'),
            (DECIMAL, '{"d": {"value": {"$bytes": "' + "A" * 300_000 + '"}, "scale": 2147483647}}'),
            (message("float f = 1;"), '{"f": 1e39}'),
            (message("bytes b = 1;"), '{"b": "text"}'),
            (message("oneof o { int32 a = 1; int32 b = 2; }"), '{"a": 1, "b": 2}'),
            (message("required int32 a = 1;", head=P2), "{}"),
        ],
        ids=lambda case: case[-40:] if case.startswith("syntax") else case[:40],
    )
    def test_what_is_to_be_written_without_columns_is_read_with_the_same_care(
        self, schema: str, row: str, tmp_path: Path
    ) -> None:
        (tmp_path / "s.proto").write_text(schema)
        done = attack(
            *("encode", "--format", "protobuf", "--schema", f"@{tmp_path / 's.proto'}"),
            stdin=f"{row}\n{row}\n".encode(),
        )
        judge(done, codes=(0, 1, 2), most=60 << 20, peak=PEAK)
        short(done)
        if done.returncode != 0:
            assert not done.out
            return
        back = attack(
            *("decode", "--format", "protobuf", "--schema", f"@{tmp_path / 's.proto'}", "--payload", "-"),
            stdin=done.out,
        )
        judge(back, codes=(0,), peak=PEAK, most=60 << 20)

    @pytest.mark.parametrize(
        "columns",
        [
            "A " + "ARRAY<" * 5_000 + "INT" + ">" * 5_000,
            "A " + "STRUCT<B " * 40 + "INT" + ">" * 40,
            "A " + "MAP<STRING, " * 90 + "INT" + ">" * 90,
            "A " + "ARRAY<STRUCT<B MAP<STRING, " * 30 + "INT" + ">>>" * 30,
            "A DECIMAL(38, 38), B DECIMAL(1, 0)",
            ", ".join(f"C{i} INT" for i in range(5_000)),
            ", ".join(f"C{i} STRUCT<A INT, B MAP<STRING, STRUCT<C INT>>>" for i in range(500)),
            "`a-b` INT",
            "`1a` INT",
            "`é` INT",
            "`A;} message B{` INT",
            '`"` INT',
            "`\x1b]0;x\x07` INT",
            "A INT, a INT, `a` INT",
            "A_B INT, AB INT, aB INT",
            "`CONNECTDEFAULT2` STRUCT<`ConnectDefault2` STRUCT<A INT>>",
            "`ConnectDefault2` STRUCT<A INT>",
            "`key` MAP<STRING, INT>, `value` INT, `ConnectDefault2Entry` MAP<STRING, INT>",
            "`message` INT, `syntax` INT, `None` INT, `HasField` INT, `__class__` INT",
            "M MAP<INT, INT>",
        ],
        ids=lambda columns: columns[:40],
    )
    @pytest.mark.parametrize("nullable", slow_but([None, "optional", "wrapper"], None))
    def test_columns_end_in_a_schema_that_reads_what_it_writes_or_in_a_sentence(
        self, columns: str, nullable: str | None, tmp_path: Path
    ) -> None:
        more = () if nullable is None else ("--nullable-representation", nullable)
        made = judge(attack("schema", columns, "--format", "protobuf", *more), codes=(0, 2), peak=PEAK)
        short(made)
        wrote = attack("encode", "{}", "--format", "protobuf", "--columns", columns, *more)
        judge(wrote, codes=(0, 1, 2), peak=PEAK)
        short(wrote)
        if made.returncode or wrote.returncode:
            return
        (tmp_path / "s.proto").write_bytes(made.out)
        read = attack(
            *("decode", "--format", "protobuf", "--schema", f"@{tmp_path / 's.proto'}", "--columns", columns),
            *("--case-rule", "exact", "--payload", "-", "--output", "json"),
            stdin=wrote.out,
        )
        assert len(rows(judge(read, codes=(0,), peak=PEAK))) == 1


WITHOUT: dict[str, tuple[str, bytes, bytes, str | None]] = {
    # name: columns, a good body, the hostile one; what is said of it.
    # None if it is read, as Protobuf reads other fields and cuts numbers off.
    "another schema's bytes": ("A INT, B STRING", number(1, 1), part(1, b"x" * 300_000) + number(2, 7), None),
    "messages 20,000 deep": ("A STRUCT<B STRUCT<C INT>>", part(1, b""), nested(20_000), None),
    "empty objects, a STRUCT of STRUCTs": (
        "A ARRAY<STRUCT<" + ", ".join(f"S{i} STRUCT<" + ", ".join(f"N{j} INT" for j in range(30)) + ">" for i in range(30)) + ">>",
        b"",
        part(1, part(1, b"")) * 200_000,
        "The rows of the body have more than",
    ),
    "450,000 empty STRUCTs of 1,000 columns": ("A ARRAY<STRUCT<" + ", ".join(f"F{i} STRING" for i in range(1_000)) + ">>", b"", b"\x0a\x00" * 450_000, "need more memory than"),
    "450,000 entries": ("A MAP<STRING, BIGINT>", b"", b"\x0a\x00" * 450_000, None),
    "450,000 entries of STRUCTs": ("A MAP<STRING, STRUCT<" + ", ".join(f"F{i} ARRAY<STRING>" for i in range(100)) + ">>", b"", b"\x0a\x00" * 450_000, "The rows of the body have more than"),
    "2^64-1": ("A BIGINT", number(1, 1), number(1, 2**64 - 1), None),
    "2^40 in INT": ("A INT", number(1, 1), number(1, 2**40), None),
    "a decimal of 300,000 bytes": ("A DECIMAL(38, 2)", part(1, part(1, b"\x01")), part(1, part(1, b"\x7f" * 300_000)), "does not fit the column type DECIMAL(38, 2)"),
    "no UTF-8": ("A STRING", part(1, b"x"), part(1, b"\xff"), "String field had bad UTF-8"),
    "a length of 2^63": ("A STRING", part(1, b"x"), b"\x0a" + varint(2**63), "The body of 11 bytes is not a message"),
    "a registry's frame": ("A BIGINT", number(1, 1), b"\x00\x00\x00\x00\x01\x00" + number(1, 1), "The body of 8 bytes is not a message"),
}  # fmt: skip


@pytest.mark.parametrize("name", slow_but(WITHOUT, "a registry's frame", "450,000 entries"))
def test_without_a_registry_a_body_that_wants_too_much_hides_no_good_one(name: str) -> None:
    columns, good, bad, said = WITHOUT[name]
    done = judge(
        decode(columns, good, bad, good, b"\x0f", good, form="protobuf_nosr"), codes=(1,), most=60 << 20, peak=PEAK
    )
    short(done)
    hides_no_good_one(done, said)
