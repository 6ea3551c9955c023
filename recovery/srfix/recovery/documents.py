"""The base of srfix's JSON documents: each is a Struct, and the Struct is its schema (`srfix schema-of`). A field has
its name and place in the document; its docstring is the description in the schema. A field that may be `UNSET` is
optional in the schema: earlier versions of srfix did not write it, or it is not always there. Keys may be added within
a version, never renamed; ids are numbers, absent things are null.
"""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeAlias, cast

import msgspec

from srfix.serde.schemas.models import Json

# A document is not checked against its schema's limits when it is made, so that srfix can show every value that it
# found.
Count: TypeAlias = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0})]
Id: TypeAlias = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": 2**31 - 1})]
Instant: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601, UTC."""
Code: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^SRF[0-9]{3}$"})]
"""The code of a finding; `srfix explain CODE` says what it means."""
Sha256: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^sha256:[0-9a-f]{64}$"})]


class Part(msgspec.Struct):
    @classmethod
    def of(cls, *values: object, **more: object) -> Self:
        """Makes the struct from attributes with its fields' names: of `more`, else of the first value that has one."""
        return msgspec.convert(_Beside(values, more), cls, from_attributes=True)


class Document(Part, tag_field="schema"):
    """A document; its tag is its full name, `srfix.NAME/VERSION`."""

    def to_json(self) -> dict[str, Json]:
        return cast("dict[str, Json]", json_of(self))


class VersionedDocument(Document):
    """A document that names the version of srfix that wrote it."""

    srfix: str
    """The version of srfix that wrote it."""


class DatedDocument(VersionedDocument):
    """A document that also has the time when it was written."""

    generated_at: Instant
    """ISO 8601, UTC."""


class PlaceNotLookedAt(Part):
    """A file or a folder that could not be looked at."""

    path: str
    reason: str


class NotLookedAt(Part):
    """Something that was not looked at."""

    what: str
    reason: str


class Skipped(NotLookedAt, order=True):
    """Something that was not looked at."""

    could_hide: bool = msgspec.field(name="could_hide_a_finding")
    """True if a finding may be hidden there, so that a result without findings does not mean healthy."""


def json_of(value: object) -> Json:
    """A Struct, or what it is made of, as JSON: tuples are lists."""
    return _with_lists(msgspec.to_builtins(value))


def _with_lists(value: Any) -> Json:
    match value:
        case dict():
            return {name: _with_lists(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_lists(item) for item in value]
        case _:
            return cast("Json", value)


class _Beside:
    """Several values as one; an attribute that is UNSET counts as missing."""

    def __init__(self, values: tuple[object, ...], more: dict[str, object]) -> None:
        self._values, self._more = values, more

    def __getattr__(self, name: str) -> object:
        if name in self._more:
            attribute = self._more[name]
        else:
            owner = next((value for value in self._values if hasattr(value, name)), None)
            attribute = getattr(owner, name, msgspec.UNSET)
        if attribute is msgspec.UNSET:
            raise AttributeError(name)
        return attribute
