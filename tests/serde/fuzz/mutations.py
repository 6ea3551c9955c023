"""What is done to payloads, by name. Each takes a generator and bytes, and gives bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random
from typing import Final, TypeAlias

Mutation: TypeAlias = Callable[[Random, bytes], bytes]

_TELLING_BYTES: Final = (0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0xC0, 0xED, 0xFE, 0xFF)
_HUGE: Final = (2**16, 2**20, 2**28, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1)
# As JSON values or instead of them.
_TOKENS: Final = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999999999", b"-1e999999999", b"1e-999999999", b"1e400", b"1e308", b"-0",
    b"-0.0", b"0.1", b"1.0", b"1E2", b"01", b"+1", b".5", b"1.", b"0x10", b"2147483648", b"-9223372036854775809",
    b"9" * 400, b"9" * 5000, b"0." + b"1" * 3000, b"null", b"true", b"false", b"nul", b'""', b'"\\ud800"', b'"\\udc00x"',
    b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\x00"', b'"\x1f"', b'"\\x41"', b'"\\', b"'a'", b'"1"', b'"NaN"', b'"AAE="',
    b'"1e400"', b"[]", b"{}", b"[null]", b'{"a":1,"a":2}', b'{"A":1,"a":2}', b"[1,]", b"{,}", b"/* */1", b"//x\n1",
    b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b'"caf\xc3\xa9"', b"\xa01", b"\x0b1",
)  # fmt: skip
_CSV: Final = (
    b'"', b'""', b'","', b",", b",,", b"\r\n", b"\n", b"\r", b" ", b"\t", b'" ', b"\\", b"'", b"#", b"\xe2\x80\x83",
    b"\xc2\xa0", b"\xef\xbf\xbe", b"\0",
)  # fmt: skip
_FIELDS: Final = (
    b"-0", b"-0E5", b"-", b"--1", b"1-2", b"+7", b"007", b"1_0", b" 1", b"nan", b"inf", b"1.5d", b"0x1p3", b"TRUE", b"1", b"0",
    b"\xd9\xa3", b"\xf0\x9d\x9f\x8f", b"ew", b"ew=", b"ew==", b"86400000", b"99999999", b"-1E-400", b"1E400", b"1.", b".5",
)  # fmt: skip
_TOKENS_LOOKED_AT: Final = 500
_PLACES: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[\[\]{},:]')


def varint(number: int) -> bytes:
    """A long as Avro writes it."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    written = bytearray()
    while rest >= 128:
        written.append(rest % 128 + 128)
        rest //= 128
    written.append(rest)
    return bytes(written)


def whole(random: Random, body: bytes) -> bytes:
    return body


def truncated(random: Random, body: bytes) -> bytes:
    return body[: random.randrange(len(body))] if body else body


def extended(random: Random, body: bytes) -> bytes:
    return body + random.choice([b"\0", b" ", random.randbytes(random.randint(1, 9)), body])


def bits_flipped(random: Random, body: bytes) -> bytes:
    """One to three bits."""
    flipped = bytearray(body)
    for _ in range(random.randint(1, 3) if body else 0):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def byte_replaced(random: Random, body: bytes) -> bytes:
    """By one that means something in some format."""
    return _spliced(random, body, bytes((random.choice(_TELLING_BYTES),)), over=1)


def byte_inserted(random: Random, body: bytes) -> bytes:
    return _spliced(random, body, bytes((random.choice((*_TELLING_BYTES, random.randrange(256))),)), over=0)


def bytes_deleted(random: Random, body: bytes) -> bytes:
    """One to four."""
    return _spliced(random, body, b"", over=random.randint(1, 4))


def bytes_swapped(random: Random, body: bytes) -> bytes:
    if len(body) < 2:
        return body
    swapped = bytearray(body)
    one, other = random.sample(range(len(body)), 2)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    return bytes(swapped)


def part_repeated(random: Random, body: bytes) -> bytes:
    """A few bytes, again behind themselves, up to 50 times: what nests, nests deeper."""
    start = random.randrange(len(body) + 1)
    part = body[start : start + random.randint(1, 6)]
    return body[:start] + part * random.randint(1, 50) + body[start:]


def huge_length(random: Random, body: bytes) -> bytes:
    """A number that claims much follows, in the place of another."""
    number = random.choice(_HUGE) + random.randint(-1, 1)
    return _over_number(random, body, varint(number))


def negative_count(random: Random, body: bytes) -> bytes:
    """A negative number in the place of another: of a block, with the size that goes with it or without."""
    number = random.choice((-1, -2, -3, -(2**31), -(2**31) - 1, -(2**62), -(2**63)))
    size = random.choice((b"", varint(0), varint(random.randint(-9, 99))))
    return _over_number(random, body, varint(number) + size)


def longer_number(random: Random, body: bytes) -> bytes:
    """A number in the place of another, with bytes that it does not need; up to the ten that it may have."""
    number = varint(random.choice((0, 1, 2, 3, -1, 2**31, 2**40, -(2**33))))
    count = random.randint(1, 10 - len(number))
    padded = number[:-1] + bytes((number[-1] | 0x80,)) + b"\x80" * (count - 1) + b"\0"
    return _over_number(random, body, padded)


def random_bytes(random: Random, body: bytes) -> bytes:
    return random.randbytes(random.randrange(24))


def empty(random: Random, body: bytes) -> bytes:
    return b""


def token_replaced(random: Random, body: bytes) -> bytes:
    """A JSON token, by one of the hostile ones."""
    return _retokened(random, body, random.choice(_TOKENS))


def token_deleted(random: Random, body: bytes) -> bytes:
    return _retokened(random, body, b"")


def tokens_swapped(random: Random, body: bytes) -> bytes:
    """Two JSON tokens: a value gets the other's type."""
    places = list(islice(_PLACES.finditer(body), _TOKENS_LOOKED_AT))
    if len(places) < 2:
        return body
    one, other = sorted(random.sample(places, 2), key=lambda place: place.start())
    return body[: one.start()] + other[0] + body[one.end() : other.start()] + one[0] + body[other.end() :]


def key_repeated(random: Random, body: bytes) -> bytes:
    """The first key of an object twice, perhaps in other letter case."""
    match = re.search(rb'\{\s*("(?:[^"\\]|\\.)*")\s*:', body)
    if match is None:
        return body
    key = random.choice((match[1], match[1].lower(), match[1].title(), match[1].swapcase()))
    return body[: match.start() + 1] + key + b":" + random.choice(_TOKENS) + b"," + body[match.start() + 1 :]


def nested(random: Random, body: bytes) -> bytes:
    """A token deep within arrays or objects, closed or not."""
    depth = random.choice((2, 20, 200, 900, 1_100, 5_000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"A":', b"}"), (b'[{"a":', b"}]")))
    return _retokened(random, body, opening * depth + b"1" + random.choice((closing * depth, b"", closing)))


def otherwise_encoded(random: Random, body: bytes) -> bytes:
    """With a byte order mark, or in another encoding."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return codecs.BOM_UTF8 + body
    encoding = random.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "latin-1"))
    return text.encode(encoding, "replace")


def spaced(random: Random, body: bytes) -> bytes:
    """White space around, JSON's or other."""
    return random.choice((b" ", b"\n\t\r ", b"\0", b"\xc2\xa0")) + body + random.choice((b"", b" ", b"\n"))


def csv_inserted(random: Random, body: bytes) -> bytes:
    """What means something in CSV, anywhere."""
    return _spliced(random, body, random.choice(_CSV), over=random.randrange(2))


def field_replaced(random: Random, body: bytes) -> bytes:
    """What stands between two commas, by a number or text that some reader takes for another."""
    fields = body.split(b",")
    fields[random.randrange(len(fields))] = random.choice((*_TOKENS, *_FIELDS, *_CSV))
    return b",".join(fields)


BINARY: Final[Sequence[Mutation]] = (
    whole, truncated, extended, bits_flipped, bits_flipped, byte_replaced, byte_replaced, byte_inserted, bytes_deleted,
    bytes_swapped, part_repeated, huge_length, negative_count, longer_number, random_bytes, empty,
)  # fmt: skip
JSON: Final[Sequence[Mutation]] = (
    whole, truncated, extended, bits_flipped, byte_replaced, byte_inserted, bytes_deleted, random_bytes, otherwise_encoded,
    spaced, nested, token_deleted, tokens_swapped, tokens_swapped, key_repeated, key_repeated, *(token_replaced,) * 8,
)  # fmt: skip
CSV: Final[Sequence[Mutation]] = (
    whole, truncated, extended, bits_flipped, byte_replaced, byte_inserted, bytes_deleted, bytes_swapped, part_repeated,
    random_bytes, empty, otherwise_encoded, spaced, *(csv_inserted,) * 6, *(field_replaced,) * 6,
)  # fmt: skip


def mutated(random: Random, body: bytes, mutations: Sequence[Mutation]) -> bytes:
    """Mostly one mutation, at times up to three."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        body = random.choice(mutations)(random, body)
    return body


def _over_number(random: Random, body: bytes, part: bytes) -> bytes:
    """In the place of what may be a number, whole."""
    start = random.randrange(len(body) + 1)
    end = start
    while end < len(body) and body[end] >= 0x80:
        end += 1
    return body[:start] + part + body[end + 1 :]


def _spliced(random: Random, body: bytes, part: bytes, *, over: int) -> bytes:
    start = random.randrange(len(body) + 1)
    return body[:start] + part + body[start + over :]


def _retokened(random: Random, body: bytes, token: bytes) -> bytes:
    places = list(islice(_PLACES.finditer(body), _TOKENS_LOOKED_AT))
    if not places:
        return token
    place = random.choice(places)
    return body[: place.start()] + token + body[place.end() :]
