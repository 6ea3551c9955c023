"""The fast look at schema ids answers what `wire.parse` says, record by record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import Role, WireError, wire_peek
from srfix.serde.wire import Headers, frame_guid, frame_id, parse, schema_id_header
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId, SchemaIdPeek, peek_headers

ids = st.integers(1, 2**31 - 1) | st.integers(1, 3)
edges = st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]).map(lambda number: number.to_bytes(4, "big"))
beginnings = st.builds(bytes.__add__, st.sampled_from([b"\x00", b"\x01", b"\x02", b"{"]), edges | st.binary(max_size=4))
"""What a payload may begin with: every magic byte, and ids on both sides of each edge."""
alike = st.lists(st.builds(frame_id, st.sampled_from([1, 1, 1, 2]), st.binary(max_size=3)), max_size=6)
payloads = (
    st.none()
    | st.binary(max_size=24)
    | st.builds(frame_id, ids, st.binary(max_size=8))
    | st.builds(frame_guid, st.uuids(), st.binary(max_size=4))
    | st.builds(bytes.__add__, beginnings, st.binary(max_size=16))
    | st.binary(max_size=24).map(lambda rest: b"\x00" + rest)
    | st.binary(max_size=24).map(lambda rest: b"\x01" + rest)
)
header_values = st.builds(frame_guid, st.uuids()) | st.binary(max_size=18) | st.none()
header_lists = st.none() | st.lists(
    st.tuples(st.sampled_from([schema_id_header(Role.KEY), schema_id_header(Role.VALUE), "trace"]), header_values),
    max_size=3,
)


def slowly(payload: bytes | None, headers: Headers = None, role: Role = Role.VALUE) -> PeekedId:
    try:
        frame = parse(payload, headers=headers, role=role)
    except WireError:
        return UNFRAMED
    if frame is None:
        return NO_PAYLOAD
    return BY_GUID if frame.schema_id is None else frame.schema_id


class TestSchemaIdPeek:
    @given(batches=st.lists(alike | st.lists(payloads, max_size=12), max_size=12))
    def test_it_agrees_with_parse(self, batches: list[list[bytes | None]]) -> None:
        peek = SchemaIdPeek()
        for batch in batches:
            assert peek(batch) == [slowly(payload) for payload in batch]

    @given(beginning=beginnings, bodies=st.lists(st.binary(max_size=16), min_size=1, max_size=4))
    def test_one_by_one_together_and_all_alike_are_the_same(self, beginning: bytes, bodies: list[bytes]) -> None:
        payloads = [beginning + body for body in bodies]
        expected = [slowly(payload) for payload in payloads]
        assert SchemaIdPeek()([*payloads]) == expected
        assert [SchemaIdPeek()([payload]) for payload in payloads] == [[peeked] for peeked in expected]
        assert SchemaIdPeek().alike(payloads) in (None, expected[0])

    def test_small_bigint_keys_are_not_taken_for_id_0(self) -> None:
        keys: list[bytes | None] = [number.to_bytes(8, "big") for number in (0, 1, 2**24 - 1)]
        assert SchemaIdPeek()(keys) == [UNFRAMED] * 3
        assert SchemaIdPeek().alike([key for key in keys if key is not None]) == UNFRAMED

    def test_what_is_remembered_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire_peek, "_MOST_BEGINNINGS", 10)
        peek = SchemaIdPeek()
        assert peek([frame_id(number, b"") for number in range(1, 101)]) == list(range(1, 101))
        assert peek([frame_id(number, b"") for number in range(1, 101)]) == list(range(1, 101))
        assert len(peek._beginnings) == 10


class TestPeekHeaders:
    @given(records=st.lists(st.tuples(payloads, header_lists), max_size=8), role=st.sampled_from(Role))
    def test_it_agrees_with_parse(
        self, records: list[tuple[bytes | None, list[tuple[str, bytes | None]] | None]], role: Role
    ) -> None:
        peeked = SchemaIdPeek()([payload for payload, _ in records])
        assert peek_headers([headers for _, headers in records], peeked, role) == [
            slowly(payload, headers, role) for payload, headers in records
        ]
