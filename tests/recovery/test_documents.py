"""What documents are made of: a Struct out of the attributes of values, and its JSON."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from msgspec import UNSET, UnsetType, field

from srfix.recovery.documents import Document, Part, json_of
from srfix.serde.subjects.names import Role


@dataclass(frozen=True, kw_only=True)
class Row:
    role: Role = Role.KEY
    is_shut: bool = False
    ids: tuple[int, ...] = (2, 1)
    note: str | None = None


class RowPart(Part, kw_only=True):
    """What a document says of it."""

    role: Role
    is_shut: bool = field(name="shut")
    ids: list[int]
    note: str | UnsetType = UNSET
    place: str


class Rows(Document, tag="srfix.rows/1"):
    rows: list[RowPart]


class TestAPart:
    def test_it_is_made_of_attributes_and_of_what_a_value_lacks(self) -> None:
        part = RowPart.of(Row(note="x"), place="here")
        assert json_of(part) == {"role": "key", "shut": False, "ids": [2, 1], "note": "x", "place": "here"}

    def test_what_is_said_beside_a_value_counts_before_its_own_and_unset_is_left_out(self) -> None:
        part = RowPart.of(Row(note="x"), ids=[3], note=UNSET, place="here")
        assert json_of(part) == {"role": "key", "shut": False, "ids": [3], "place": "here"}

    def test_the_first_value_that_has_an_attribute_gives_it(self) -> None:
        part = RowPart.of(Row(role=Role.VALUE, note="x"), Row(), place="here")
        assert part.role is Role.VALUE

    def test_what_a_value_lacks_is_an_error(self) -> None:
        with pytest.raises(msgspec.ValidationError, match="missing required field `place`"):
            RowPart.of(Row(note="x"))


def test_a_document_begins_with_its_name_and_has_its_keys_in_their_order() -> None:
    document = Rows([RowPart.of(Row(note="x"), place="here")]).to_json()
    assert list(document) == ["schema", "rows"]
    assert document["schema"] == "srfix.rows/1"


def test_a_tuple_is_a_list_in_json_at_any_depth() -> None:
    assert json_of({"a": (1, (2, {"b": (3,)}))}) == {"a": [1, [2, {"b": [3]}]]}
