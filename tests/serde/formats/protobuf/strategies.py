"""Named hypothesis strategies: Protobuf schemas, and messages of them as the runtime takes them.

What is generated is described by values of this module's own; the text is made of them, and what a row must be.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"enum {self.name} {{ {' '.join(f'{self.name}_{number} = {number};' for number in self.numbers)} }}"


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    fields: tuple[Field, ...]
    oneof: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    number: int
    type: str | Enum | Message
    label: str
    """`""`, `optional`, `required`, `repeated`, or the type of a map's keys."""

    @property
    def is_map(self) -> bool:
        return self.label not in ("", "optional", "required", "repeated")


_INTS: Final = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), (-(2**31), 2**31 - 1)),
    **dict.fromkeys(("uint32", "fixed32"), (0, 2**32 - 1)),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), (-(2**63), 2**63 - 1)),
    **dict.fromkeys(("uint64", "fixed64"), (0, 2**63 - 1)),
}
_SCALARS: Final = (*_INTS, "float", "double", "bool", "string", "bytes")
_KEYS: Final = ("string", "int32", "int64", "uint32", "bool")
_COLUMNS: Final = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "INT"),
    **dict.fromkeys(("float", "double"), "DOUBLE"),
    "bool": "BOOLEAN",
    "string": "STRING",
    "bytes": "BYTES",
}
_DEFAULTS: Final[dict[str, Any]] = {"float": 0.0, "double": 0.0, "bool": False, "string": "", "bytes": b""}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCase:
    """A schema, and values of its first message."""

    text: str
    root: Message
    values: tuple[dict[str, Any], ...]
    """By the fields' names: what is written. Enums are numbers."""
    is_proto2: bool
    others: tuple[Message, ...] = ()
    """The messages that stand behind the first one."""


@st.composite
def schema_cases(draw: DrawFn) -> SchemaCase:
    is_proto2 = draw(st.booleans())
    enums = [
        Enum(f"E{number}", (0, *draw(st.lists(st.integers(1, 300), max_size=3, unique=True)))) for number in range(2)
    ]
    messages: list[Message] = []
    for number in range(draw(st.integers(1, 4))):
        messages.append(_message(draw, f"M{number}", enums, messages, is_proto2=is_proto2))
    root = messages[-1]
    lines = ['syntax = "proto2";' if is_proto2 else 'syntax = "proto3";', "package some.where;"]
    lines += [_declared(root), *(_declared(message) for message in messages[:-1]), *(enum.text for enum in enums)]
    values = draw(st.lists(_value_of(root, is_proto2=is_proto2), min_size=1, max_size=3))
    return SchemaCase(
        text="\n".join(lines), root=root, values=tuple(values), is_proto2=is_proto2, others=tuple(messages[:-1])
    )


def _message(draw: DrawFn, name: str, enums: list[Enum], known: list[Message], *, is_proto2: bool) -> Message:
    numbers = draw(
        st.lists(
            st.integers(1, 2**29 - 1).filter(lambda n: not 19_000 <= n <= 19_999), min_size=1, max_size=6, unique=True
        )
    )
    types: SearchStrategy[Any] = st.sampled_from([*_SCALARS, *enums, *known])
    labels = ["optional", "required", "repeated", *_KEYS] if is_proto2 else ["", "optional", "repeated", *_KEYS]
    split = draw(st.integers(0, len(numbers)))
    split = split if len(numbers) - split != 0 and draw(st.booleans()) else len(numbers)
    fields = [
        Field(f"f{place}", number, draw(types), draw(st.sampled_from(labels)))
        for place, number in enumerate(numbers[:split])
    ]
    oneof = [Field(f"o{place}", number, draw(types), "") for place, number in enumerate(numbers[split:])]
    return Message(name, tuple(fields), tuple(oneof))


def _word(type_: str | Enum | Message) -> str:
    return type_ if isinstance(type_, str) else type_.name


def _declared(message: Message) -> str:
    lines = [
        f"map<{field.label}, {_word(field.type)}> {field.name} = {field.number};"
        if field.is_map
        else f"{field.label} {_word(field.type)} {field.name} = {field.number};"
        for field in message.fields
    ]
    if message.oneof:
        parts = " ".join(f"{_word(field.type)} {field.name} = {field.number};" for field in message.oneof)
        lines.append(f"oneof x {{ {parts} }}")
    return f"message {message.name} {{ {' '.join(lines)} }}"


def _scalar(type_: str) -> SearchStrategy[Any]:
    if type_ in _INTS:
        return st.integers(*_INTS[type_]) | st.sampled_from((0, *_INTS[type_]))
    return {
        "float": st.floats(width=32, allow_nan=False),
        "double": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "string": st.text(max_size=5),
        "bytes": st.binary(max_size=5),
    }[type_]


def _one(type_: str | Enum | Message, *, is_proto2: bool) -> SearchStrategy[Any]:
    match type_:
        case str():
            return _scalar(type_)
        case Enum(_, numbers):
            known = st.sampled_from(numbers)
            return known if is_proto2 else known | st.integers(-5, 400)
        case Message():
            return _value_of(type_, is_proto2=is_proto2)


def _value_of(message: Message, *, is_proto2: bool) -> SearchStrategy[dict[str, Any]]:
    must: dict[str, SearchStrategy[Any]] = {}
    may: dict[str, SearchStrategy[Any]] = {}
    for field in message.fields:
        one = _one(field.type, is_proto2=is_proto2)
        if field.label == "repeated":
            one = st.lists(one, max_size=3)
        elif field.is_map:
            one = st.dictionaries(_scalar(field.label), one, max_size=3)
        (must if field.label == "required" else may)[field.name] = one
    whole = st.fixed_dictionaries(must, optional=may)
    if not message.oneof:
        return whole
    chosen = st.none() | st.one_of(
        [st.tuples(st.just(field.name), _one(field.type, is_proto2=is_proto2)) for field in message.oneof]
    )
    return st.tuples(whole, chosen).map(lambda drawn: drawn[0] | (dict([drawn[1]]) if drawn[1] else {}))


def fields_of(message: Message) -> dict[str, Field]:
    """Its fields, those of the oneof among them, by their names."""
    return {field.name: field for field in (*message.fields, *message.oneof)}


def _column(type_: str | Enum | Message) -> str:
    match type_:
        case str():
            return _COLUMNS.get(type_, "BIGINT")
        case Enum():
            return "STRING"
        case Message():
            return f"STRUCT<{columns_of(type_)}>"


def columns_of(message: Message) -> str:
    """The columns, in quotes: a oneof comes first."""
    parts = []
    if message.oneof:
        inner = ", ".join(f"`{field.name}` {_column(field.type)}" for field in message.oneof)
        parts.append(f"`x_0` STRUCT<{inner}>")
    for field in message.fields:
        type_ = _column(field.type)
        if field.is_map:
            type_ = f"MAP<STRING, {type_}>"
        elif field.label == "repeated":
            type_ = f"ARRAY<{type_}>"
        parts.append(f"`{field.name}` {type_}")
    return ", ".join(parts)


def _read(type_: str | Enum | Message, value: Any) -> Any:
    match type_:
        case "float":
            return struct.unpack("<f", struct.pack("<f", value))[0]
        case str():
            return value
        case Enum(name, numbers):
            return f"{name}_{value}" if value in numbers else f"UNKNOWN_ENUM_VALUE_{name}_{value}"
        case Message():
            return row_of(type_, value)


def _absent(field: Field) -> Any:
    if field.label == "repeated":
        return []
    if field.is_map:
        return {}
    if field.label == "optional" or isinstance(field.type, Message):
        return None
    return f"{field.type.name}_0" if isinstance(field.type, Enum) else _DEFAULTS.get(field.type, 0)


def _key(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_of(message: Message, value: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if message.oneof:
        set_ = [field for field in message.oneof if field.name in value]
        row["x_0"] = (
            {field.name: _read(field.type, value[field.name]) if field in set_ else None for field in message.oneof}
            if set_
            else None
        )
    for field in message.fields:
        if field.name not in value:
            row[field.name] = _absent(field)
        elif field.is_map:
            row[field.name] = {_key(key): _read(field.type, part) for key, part in value[field.name].items()}
        elif field.label == "repeated":
            row[field.name] = [_read(field.type, part) for part in value[field.name]]
        else:
            row[field.name] = _read(field.type, value[field.name])
    return row


def plain_of(message: Message, value: dict[str, Any]) -> dict[str, Any]:
    """The dict that is read without columns."""
    row: dict[str, Any] = {}
    for name, field in fields_of(message).items():
        if name not in value:
            if field not in message.oneof:
                row[name] = _absent(field)
            elif len(message.oneof) == 1:
                row[name] = None
        elif field.is_map:
            row[name] = {key: _plain(field.type, part) for key, part in value[name].items()}
        elif field.label == "repeated":
            row[name] = [_plain(field.type, part) for part in value[name]]
        else:
            row[name] = _plain(field.type, value[name])
    return row


def _plain(type_: str | Enum | Message, value: Any) -> Any:
    return plain_of(type_, value) if isinstance(type_, Message) else _read(type_, value)
