"""Tables of settings: which values count, and who takes what."""

from __future__ import annotations

from enum import Enum

import pytest

from srfix.serde.errors import UsageError
from srfix.serde.properties.settings_table import Setting, fields_of, taken_by


class Who(Enum):
    READER = "reader"
    WRITER = "writer"


def _number(name: str, value: str) -> int:
    if not value.isdigit():
        raise UsageError(f"{name} is no number.")
    return int(value)


TABLE: dict[str, Setting[Who]] = {
    "size": Setting(of=tuple(Who), check=_number, default=7, field="size"),
    "name": Setting(of=(Who.WRITER,), field="name"),
    "only.checked": Setting(of=(Who.READER,), check=_number),
}


def test_what_is_not_given_has_its_default() -> None:
    assert fields_of(TABLE, {}) == {"size": 7, "name": None}


def test_what_is_given_is_read_as_its_row_says() -> None:
    assert fields_of(TABLE, {"size": "3", "name": "x", "only.checked": "1"}) == {"size": 3, "name": "x"}


@pytest.mark.parametrize("name", ["size", "only.checked"])
def test_a_value_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=rf"^{name} is no number\.$"):
        fields_of(TABLE, {name: "x"})


def test_a_taker_has_its_own_settings() -> None:
    assert (taken_by(TABLE, Who.READER), taken_by(TABLE, Who.WRITER)) == (["size", "only.checked"], ["size", "name"])
