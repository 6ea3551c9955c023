"""The MANIFEST's frame and its version edits: whatever is in them, the named fields go and all others stay."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery import StateDirectoryError
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.state.writing.manifest import (
    BLOCK_SIZE,
    UNKNOWN_TO_5_18,
    crc32c,
    fields_of,
    masked_crc,
    read_records,
    strip_edit,
    strip_manifest,
    write_records,
)

NAME = "MANIFEST-000005"


def tags_of(content: bytes) -> frozenset[int]:
    return frozenset(tag for record in read_records(content, path=NAME) for tag, _, _ in fields_of(record, NAME))


def varint(number: int) -> bytes:
    out = bytearray()
    while number & ~0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def sized(content: bytes) -> bytes:
    return varint(len(content)) + content


numbers = st.integers(0, 2**63 - 1).map(varint)
texts = st.binary(max_size=60).map(sized)
custom_fields = st.lists(st.tuples(st.integers(2, 200).map(varint), texts).map(b"".join), max_size=3).map(b"".join)


def joined(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


def with_tag(tag: int, content: st.SearchStrategy[bytes]) -> st.SearchStrategy[tuple[int, bytes]]:
    return content.map(lambda body: (tag, varint(tag) + body))


kept_fields = st.one_of(
    with_tag(1, texts),
    *(with_tag(tag, numbers) for tag in (2, 3, 4, 9, 10, 200, 203, 300)),
    with_tag(5, joined(numbers, texts)),
    with_tag(6, joined(numbers, numbers)),
    with_tag(7, joined(numbers, numbers, numbers, texts, texts)),
    with_tag(100, joined(numbers, numbers, numbers, texts, texts, numbers, numbers)),
    with_tag(102, joined(numbers, numbers, numbers, numbers, texts, texts, numbers, numbers)),
    with_tag(103, joined(numbers, numbers, numbers, texts, texts, numbers, numbers, custom_fields, st.just(varint(1)))),
    with_tag(201, texts),
    with_tag(202, st.just(b"")),
    with_tag(8198, texts),
)
dropped_fields = st.one_of(*(with_tag(tag, texts) for tag in sorted(UNKNOWN_TO_5_18)))
edits = st.lists(kept_fields | dropped_fields, min_size=1, max_size=8)


class TestChecksum:
    def test_is_castagnolis(self) -> None:
        assert crc32c(b"123456789") == 0xE3069283  # RFC 3720's check value
        assert crc32c(bytes(32)) == 0x8A9136AA

    def test_is_masked_as_leveldb_masks_it(self) -> None:
        crc = crc32c(b"foo")
        rotated = (masked_crc(b"foo") - 0xA282EAD8) & 0xFFFFFFFF
        assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == crc


class TestRecords:
    @given(records=st.lists(st.binary(max_size=300), max_size=12))
    def test_are_read_as_they_were_written(self, records: list[bytes]) -> None:
        assert list(read_records(write_records(records), path=NAME)) == records

    @pytest.mark.parametrize(
        "sizes",
        [
            *((BLOCK_SIZE - less, 9) for less in (6, 7, 8, 13, 14, 15)),  # a record's head has 7 bytes
            (BLOCK_SIZE, BLOCK_SIZE + 30, 1),
            (2 * BLOCK_SIZE - 14, 30),
        ],
    )
    def test_go_over_the_ends_of_blocks(self, sizes: tuple[int, ...]) -> None:
        records = [bytes([index]) * size for index, size in enumerate(sizes)]
        assert list(read_records(write_records(records), path=NAME)) == records

    @given(records=st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=4), data=st.data())
    def test_a_flipped_bit_is_found(self, records: list[bytes], data: st.DataObject) -> None:
        written = bytearray(write_records(records))
        written[data.draw(st.integers(0, len(written) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        with pytest.raises(StateDirectoryError, match=rf"^{NAME}, byte [0-9,]+: "):
            list(read_records(bytes(written), path=NAME))

    def test_one_that_is_cut_short_is_found(self) -> None:
        written = write_records([b"whole", b"cut"])
        with pytest.raises(StateDirectoryError, match="a record is cut short"):
            list(read_records(written[:-1], path=NAME))


class TestStrip:
    @given(fields=edits)
    def test_drops_the_named_fields_and_no_others(self, fields: list[tuple[int, bytes]]) -> None:
        edit = b"".join(body for _tag, body in fields)
        kept = b"".join(body for tag, body in fields if tag not in UNKNOWN_TO_5_18)
        assert strip_edit(edit, path=NAME) == kept
        assert strip_edit(kept, path=NAME) == kept

    @given(manifest=st.lists(edits, max_size=5))
    def test_leaves_a_manifest_with_checksums_that_match(self, manifest: list[list[tuple[int, bytes]]]) -> None:
        records = [b"".join(body for _tag, body in fields) for fields in manifest]
        stripped = strip_manifest(write_records(records), path=NAME)
        assert tags_of(stripped) == {tag for fields in manifest for tag, _ in fields} - UNKNOWN_TO_5_18

    def test_of_rocksdbs_own_leaves_a_database_that_says_the_same(self, tmp_path: Path) -> None:
        with new_database(tmp_path / "db", ["rows"], Release(4, 3)) as database:
            database.put("rows", b"k", b"v")
        (manifest,) = (tmp_path / "db").glob("MANIFEST-*")
        content = manifest.read_bytes()
        assert tags_of(content) >= UNKNOWN_TO_5_18
        stripped = strip_manifest(content, path=NAME)
        assert tags_of(stripped) == tags_of(content) - UNKNOWN_TO_5_18

    def test_refuses_a_field_that_it_does_not_know(self) -> None:
        with pytest.raises(StateDirectoryError, match="tag 400"):
            strip_edit(varint(400) + b"\x00", path=NAME)

    @given(fields=edits, cut=st.integers(1, 40))
    def test_an_edit_that_is_cut_short_is_an_error_or_a_shorter_one(
        self, fields: list[tuple[int, bytes]], cut: int
    ) -> None:
        edit = b"".join(body for _tag, body in fields)
        whole = b"".join(body for tag, body in fields if tag not in UNKNOWN_TO_5_18)
        with suppress(StateDirectoryError):
            assert whole.startswith(strip_edit(edit[:-cut], path=NAME))
