"""The three framings."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import wire
from srfix.serde.errors import (
    ImpossibleSchemaIdError,
    MalformedHeaderError,
    PayloadTooShortError,
    UnknownMagicByteError,
    WireError,
)
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Framing

GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
ids = st.integers(wire.MIN_SCHEMA_ID, wire.MAX_SCHEMA_ID)
impossible = st.sampled_from([0, 2**31, 2**32 - 1]) | st.integers(2**31, 2**32 - 1)


@pytest.mark.core
class TestParse:
    def test_a_tombstone_is_not_an_error(self) -> None:
        assert wire.parse(None) is None

    @given(ids, st.uuids(), st.binary())
    def test_what_is_framed_is_taken_apart_again(self, schema_id: int, guid: UUID, body: bytes) -> None:
        by_id, by_guid = wire.parse(wire.frame_id(schema_id, body)), wire.parse(wire.frame_guid(guid, body))
        assert by_id is not None
        assert (by_id.schema_id, by_id.guid, by_id.body, by_id.framing) == (schema_id, None, body, Framing.PREFIX_ID)
        assert by_guid is not None
        assert (by_guid.schema_id, by_guid.guid, by_guid.body, by_guid.framing) == (
            None,
            guid,
            body,
            Framing.PREFIX_GUID,
        )

    def test_the_header_wins_over_the_payload(self) -> None:
        headers = [("__value_schema_id", wire.frame_guid(GUID))]
        frame = wire.parse(wire.frame_id(7, b"x"), headers=headers, role=Role.VALUE)
        assert frame is not None
        assert (frame.framing, frame.guid, frame.body_offset) == (Framing.HEADER_GUID, GUID, 0)

    def test_the_header_of_the_other_role_does_not_count(self) -> None:
        headers = {"__key_schema_id": wire.frame_guid(GUID)}
        frame = wire.parse(wire.frame_id(7, b"x"), headers=headers, role=Role.VALUE)
        assert frame is not None
        assert frame.framing is Framing.PREFIX_ID

    def test_an_empty_payload_is_not_a_tombstone(self) -> None:
        with pytest.raises(PayloadTooShortError, match=r"The payload is empty \(0 bytes\), which is not a"):
            wire.parse(b"")

    @pytest.mark.parametrize(("first", "size"), [(0, 1), (0, 4), (1, 1), (1, 16)])
    def test_a_payload_cut_off_within_the_id_or_the_guid_says_how_long_it_is(self, first: int, size: int) -> None:
        with pytest.raises(PayloadTooShortError, match=rf"^The payload has {size} bytes?; the byte 0{first} announces"):
            wire.parse(bytes([first]) * size)

    def test_plain_json_is_recognised_for_what_it_is(self) -> None:
        with pytest.raises(UnknownMagicByteError, match=r"starts with the byte 7b; .* It looks like plain"):
            wire.parse(b'{"id": 1}')
        with pytest.raises(UnknownMagicByteError) as caught:
            wire.parse(b"\x02abc")
        assert "JSON" not in caught.value.message

    @given(impossible, st.binary(max_size=3))
    def test_an_id_that_no_registry_gives_is_an_error_of_its_own(self, schema_id: int, body: bytes) -> None:
        words = rf"its schema id would be {schema_id}( \(-\d+ to Java\))?;"
        with pytest.raises(ImpossibleSchemaIdError, match=words) as caught:
            wire.parse(b"\x00" + schema_id.to_bytes(4, "big") + body)
        assert caught.value.schema_id == schema_id

    @given(st.binary(max_size=24))
    def test_any_bytes_are_a_frame_or_a_wire_error(self, payload: bytes) -> None:
        try:
            frame = wire.parse(payload)
        except WireError:
            return
        assert frame is not None
        assert (frame.schema_id is None) != (frame.guid is None)
        assert frame.body == payload[frame.body_offset :]


class TestHeaderGuid:
    @pytest.mark.parametrize("value", [None, "text", b"", b"\x01" + b"x" * 15, b"\x00" + b"x" * 16])
    def test_a_header_that_is_no_guid_is_an_error_of_its_own(self, value: bytes | str | None) -> None:
        with pytest.raises(MalformedHeaderError, match=r"^The record header __key_schema_id holds "):
            wire.header_guid([("__key_schema_id", value)], Role.KEY)

    def test_what_stands_behind_it_is_before_the_body(self) -> None:
        """Protobuf's message indexes (`HeaderSchemaIdSerializer`)."""
        headers = {"__value_schema_id": wire.frame_guid(GUID, b"\x02\x02")}
        frame = wire.parse(b"body", headers=headers)
        assert frame is not None
        assert (frame.guid, frame.body) == (GUID, b"\x02\x02body")

    def test_the_last_of_several_headers_counts(self) -> None:
        headers = [("__key_schema_id", b"nonsense"), ("__key_schema_id", wire.frame_guid(GUID))]
        assert wire.header_guid(headers, Role.KEY) == GUID

    @pytest.mark.parametrize("headers", [None, [], {}, [("trace", b"1")], {"trace": "1"}])
    def test_no_such_header_is_none(self, headers: wire.Headers) -> None:
        assert wire.header_guid(headers, Role.KEY) is None


class TestPrefixIdBytes:
    @pytest.mark.parametrize("schema_id", [-(2**31), -1, 0, 2**31, 2**32, 10**30])
    def test_an_id_that_no_registry_gives_is_refused(self, schema_id: int) -> None:
        with pytest.raises(ImpossibleSchemaIdError, match=rf"^There is no schema id {schema_id}\b"):
            wire.prefix_id_bytes(schema_id)

    @given(ids, st.binary(max_size=3))
    def test_it_is_what_prefix_of_finds_again(self, schema_id: int, body: bytes) -> None:
        payload = wire.frame_id(schema_id, body)
        assert wire.prefix_of(payload) == wire.prefix_id_bytes(schema_id)
        assert wire.schema_id_of(payload) == schema_id
