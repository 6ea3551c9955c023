"""Converts decoded values to JSON and back, without any loss.

| value | JSON |
|---|---|
| null, boolean, text, list | the same value |
| whole number | a number with all its digits, also beyond 2^53 |
| float | a number; NaN and the infinities `{"$double": "NaN"}`, `"Infinity"`, `"-Infinity"` |
| bytes, fixed | `{"$bytes": "<base64>"}` |
| decimal | `{"$decimal": "12.30"}`, with its scale |
| date | `{"$date": "2020-06-16"}` |
| time | `{"$time": "03:00:00.123"}` |
| timestamp | `{"$timestamp": "2020-06-16T03:00:00.123+00:00"}` |
| local timestamp | `{"$local-timestamp": "2020-06-16T03:00:00.123"}` |
| UUID | `{"$uuid": "…"}` |
| record, map | an object; if one of its own names begins with `$`, `{"$object": {…}}` stands around it |
| a Protobuf map's key that is a number or boolean | its text |
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import uuid
from collections.abc import Callable
from typing import Final, assert_never

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import PayloadBoundError
from srfix.serde.interface import Value
from srfix.serde.schemas.models import Json

_MARK: Final = "$"
_OBJECT: Final = "$object"
_SHOWN_CHARACTERS: Final = 60


def to_json(value: Value) -> Json:
    """The JSON for a value; `from_json` is its inverse."""
    check_depth(value)
    return _json_of(value)


def check_depth(value: Value) -> None:
    """:raises PayloadBoundError: if a value nests too deep to be shown as JSON."""
    most = payload_bounds().shown_levels
    if _nests_deeper(value, most):
        raise PayloadBoundError(
            f"The row nests deeper than {most} levels. srfix does not show it, because JSON readers could not read it. "
            "Read it into columns, or raise the bound (srfix.serde.bounds: shown_levels).",
            bound="shown_levels",
        )


class JsonTexts:
    """Gives the text of `json.dumps(to_json(value), ensure_ascii=False)` faster. One for each job and thread."""

    def __init__(self) -> None:
        self._marking = _Marking(ensure_ascii=False, allow_nan=False)

    def __call__(self, value: Value) -> str:
        self._marking.marks = 0
        try:
            text = self._marking.encode(value)
        except (ValueError, RecursionError):  # NaN and the infinities; values that nest too deep
            return self._marking.encode(to_json(value))
        most = payload_bounds().shown_levels
        is_shallow = text.count("{") + text.count("[") <= most or not _nests_deeper(value, most)
        # A name or text that looks like a mark must be one of srfix's marks.
        has_no_others = text.count(f'"{_MARK}') == self._marking.marks
        return text if is_shallow and has_no_others else self._marking.encode(to_json(value))


class _Marking(json.JSONEncoder):
    marks = 0

    def default(self, o: Value) -> Json:
        self.marks += 1
        return _json_of(o)


def _nests_deeper(value: Value, levels: int) -> bool:
    layer: list[Value] = [value]
    while layer and levels >= 0:
        levels -= 1
        layer = [
            inner
            for part in layer
            if isinstance(part, dict | list) and part
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, dict | list)
        ]
    return bool(layer)


def _json_of(value: Value) -> Json:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"$double": _NAMES_OF_FLOATS.get(value, "NaN")}
        case bytes():
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        case decimal.Decimal():
            return {"$decimal": str(value)}
        case datetime.datetime():  # checked before date, because a datetime is a date
            return {"$local-timestamp" if value.tzinfo is None else "$timestamp": value.isoformat()}
        case datetime.date():
            return {"$date": value.isoformat()}
        case datetime.time():
            return {"$time": value.isoformat()}
        case uuid.UUID():
            return {"$uuid": str(value)}
        case list():
            return [_json_of(item) for item in value]
        case dict():
            fields = {
                name if isinstance(name, str) else json.dumps(name): _json_of(item) for name, item in value.items()
            }
            return {_OBJECT: fields} if any(name.startswith(_MARK) for name in fields) else fields
        case _:
            assert_never(value)


def from_json(document: Json) -> Value:
    match document:
        case list():
            return [from_json(item) for item in document]
        case dict():
            if any(name.startswith(_MARK) for name in document):
                return _marked(document)
            return {name: from_json(item) for name, item in document.items()}
        case _:
            return document


def _marked(document: dict[str, Json]) -> Value:
    (mark, content), *more = document.items()
    if not more and mark == _OBJECT and isinstance(content, dict):
        return {name: from_json(item) for name, item in content.items()}
    if not more and mark in _READERS and isinstance(content, str):
        try:
            return _READERS[mark](content)
        except (ValueError, ArithmeticError) as error:  # raised by decimals
            raise ValueError(f"{content[:_SHOWN_CHARACTERS]!r} is not a valid value for the mark {mark!r}.") from error
    raise ValueError(f"{mark!r} is not a known mark, or the object has other keys besides it.")


_NAMES_OF_FLOATS: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}
_READERS: Final[dict[str, Callable[[str], Value]]] = {
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$date": datetime.date.fromisoformat,
    "$decimal": decimal.Decimal,
    "$double": float,
    "$local-timestamp": datetime.datetime.fromisoformat,
    "$time": datetime.time.fromisoformat,
    "$timestamp": datetime.datetime.fromisoformat,
    "$uuid": uuid.UUID,
}
