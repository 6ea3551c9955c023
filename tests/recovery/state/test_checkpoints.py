"""Checkpoint files: real ones of three Streams versions, every form, and every kind of damage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.recovery import StateDirectoryError
from srfix.recovery.state.checkpoints import (
    Checkpoint,
    CheckpointEntry,
    OffsetMeaning,
    parse_checkpoint,
    read_checkpoint,
)
from srfix.serde import Topic

DATA = Path(__file__).parent / "data"

entries = st.lists(
    st.builds(
        CheckpointEntry,
        topic=st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).map(Topic),
        partition=st.integers(0, 2**31 - 1),
        offset=st.none() | st.integers(0, 2**63 - 1),
    ),
    max_size=6,
    unique_by=lambda entry: (entry.topic, entry.partition),
).map(tuple)
"""What a checkpoint can hold."""


def printed(wanted: tuple[CheckpointEntry, ...]) -> bytes:
    """The file as `OffsetCheckpoint.write` writes it."""
    lines = [f"{e.topic} {e.partition} {-4 if e.offset is None else e.offset}" for e in wanted]
    return "".join(f"{line}\n" for line in ["0", str(len(wanted)), *lines]).encode()


def entry(topic: str, partition: int, offset: int | None) -> CheckpointEntry:
    return CheckpointEntry(topic=Topic(topic), partition=partition, offset=offset)


class TestReadCheckpoint:
    @pytest.mark.core
    def test_a_reused_source_topic_stands_where_a_changelog_would(self) -> None:
        path = DATA / "2.6.3/xe5dc1e-app/1_0/.checkpoint"
        assert read_checkpoint(path) == Checkpoint(path=str(path), entries=(entry("xe5dc1e-ts", 0, 1),))

    def test_a_position_file_has_the_same_form(self) -> None:
        assert read_checkpoint(DATA / "3.9.2/xda9e9e-app/1_0/ts.position").topics == ("xda9e9e-ts",)

    @pytest.mark.parametrize("path", sorted(DATA.rglob(".checkpoint")), ids=lambda p: str(p.relative_to(DATA)))
    def test_what_real_streams_wrote_is_printed_again_byte_for_byte(self, path: Path) -> None:
        assert printed(read_checkpoint(path).entries) == path.read_bytes()


class TestParseCheckpoint:
    @given(entries)
    @example(())
    def test_what_was_written_is_read(self, wanted: tuple[CheckpointEntry, ...]) -> None:
        assert parse_checkpoint(printed(wanted), path="p").entries == wanted

    @given(st.binary(max_size=60))
    @example(b"0\n1\nusers 0 41\nusers 1 2")
    def test_any_bytes_are_a_checkpoint_or_an_error_that_names_file_and_line(self, content: bytes) -> None:
        try:
            parse_checkpoint(content, path="D/.checkpoint")
        except StateDirectoryError as error:
            message = error.message
        else:
            return
        assert message.startswith("D/.checkpoint, line ")

    @given(entries.filter(bool), st.data())
    def test_a_file_cut_anywhere_is_never_taken_for_a_shorter_one(
        self, wanted: tuple[CheckpointEntry, ...], data: st.DataObject
    ) -> None:
        whole = printed(wanted)
        cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
        try:
            found = parse_checkpoint(cut, path="p").entries
        except StateDirectoryError:
            return
        # Cut in the last number, or before the last line break: the text itself does not betray it.
        assert [(e.topic, e.partition) for e in found] == [(e.topic, e.partition) for e in wanted]

    def test_minus_four_is_an_offset_that_is_not_known_and_an_empty_map_has_no_entries(self) -> None:
        assert parse_checkpoint(b"0\n1\nusers 3 -4\n", path="p").entries == (entry("users", 3, None),)
        assert parse_checkpoint(b"0\n0\n", path="p").entries == ()

    @pytest.mark.parametrize(
        ("content", "line", "problem"),
        [
            (b"", 1, "the file is empty"),
            (b"1\n0\n", 1, "version 1 is not known"),
            (b"{}\n", 1, "version is not a number: '{}'"),
            (b"0\n", 2, "ends before the number of entries"),
            (b"0\n2\nusers 0 41\n", 3, "the file announces 2 entries, but has 1"),
            (b"0\n1\nusers 0\n", 3, "it is not '<topic> <partition> <offset>'"),
            (b"0\n1\nusers x 1\n", 3, "partition is not a number: 'x'"),
            (b"0\n1\nusers -1 1\n", 3, "partition -1 is negative"),
            (b"0\n1\nusers 0 -1\n", 3, "offset -1 is negative"),
            (b"0\n2\nusers 0 1\nusers 0 2\n", 4, "line 3 already has users 0"),
            (b"0\n1\n\xff 0 1\n", 3, "not UTF-8"),
        ],
    )
    def test_damage_is_named_with_file_and_line(self, content: bytes, line: int, problem: str) -> None:
        with pytest.raises(StateDirectoryError, match=rf"^D/app/0_0/\.checkpoint, line {line}: .*{re.escape(problem)}"):
            parse_checkpoint(content, path="D/app/0_0/.checkpoint")


@pytest.mark.core
@pytest.mark.parametrize(
    ("offset", "meaning", "start"),
    [
        (41, OffsetMeaning.LAST_RECORD, 42),  # since 2.6
        (41, OffsetMeaning.POSITION, 41),  # up to 2.5, and for global stores
        (41, OffsetMeaning.UNKNOWN, 41),  # the lower of the two
        (None, OffsetMeaning.LAST_RECORD, None),  # from the start of the log
    ],
)
def test_where_a_restore_starts(offset: int | None, meaning: OffsetMeaning, start: int | None) -> None:
    assert entry("users", 0, offset).restore_start(meaning) == start
