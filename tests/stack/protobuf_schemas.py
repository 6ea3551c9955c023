"""Generated .proto texts as other producers have them, and bodies of their messages."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

_SCALARS: Final = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
_KEYS: Final = tuple(name for name in _SCALARS if name not in ("double", "float", "bytes"))
_WRAPPERS: Final = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_KNOWN: Final = {
    **{f"google.protobuf.{name}Value": "google/protobuf/wrappers.proto" for name in _WRAPPERS},
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    "google.protobuf.Duration": "google/protobuf/duration.proto",
    "google.protobuf.Any": "google/protobuf/any.proto",
    "google.protobuf.Empty": "google/protobuf/empty.proto",
    "google.protobuf.FieldMask": "google/protobuf/field_mask.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.type.Money": "google/type/money.proto",
    "google.type.LatLng": "google/type/latlng.proto",
    "google.type.DayOfWeek": "google/type/dayofweek.proto",
    "confluent.type.Decimal": "confluent/type/decimal.proto",
}
_DECIMAL_OPTIONS: Final = st.sampled_from(
    [
        "",
        *(
            f"[(confluent.field_meta) = {{ params: [{params}] }}]"
            for params in (
                '{ key: "scale", value: "2" }, { key: "precision", value: "9" }',
                '{ key: "scale", value: "3" }',
                '{ key: "precision", value: "20" }',
                '{ key: "scale", value: "x" }, { key: "other", value: "" }',
            )
        ),
    ]
)
_NARROW: Final = st.sampled_from(
    [
        "",
        "",
        *(
            f'[(confluent.field_meta) = {{ params: [{{ key: "connect.type", value: "{t}" }}] }}]'
            for t in ("int8", "int16", "x")
        ),
    ]
)


class _File:
    """What is written of a text so far."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self.is_proto2 = draw(st.booleans())
        self.package = draw(st.sampled_from(["", "a", "a.b_c"]))
        self.imports: set[str] = set()
        self.count = 0
        self.types: list[str] = []
        """The messages that are whole already, which those behind them may have fields of."""
        self.enums: list[str] = []

    def text(self) -> str:
        bodies = [part for _ in range(self.draw(st.integers(1, 3))) for part in self._message("", 0)]
        bodies = self.draw(st.permutations(bodies)) if self.draw(st.booleans()) else bodies[::-1]
        head = [
            f'syntax = "proto{2 if self.is_proto2 else 3}";',
            *([f"package {self.package};"] if self.package else []),
        ]
        return "\n".join([*head, *(f'import "{name}";' for name in sorted(self.imports)), *bodies, ""])

    def _next(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}"

    def _message(self, within: str, depth: int) -> list[str]:
        draw, name = self.draw, self._next("M")
        full = f"{within}{name}"
        inner: list[str] = []
        for _ in range(draw(st.integers(0, 2)) if depth < 2 else 0):
            inner += self._message(f"{full}.", depth + 1) if draw(st.booleans()) else [self._enum(f"{full}.")]
        outer = [] if within or draw(st.booleans()) else [self._enum("")]
        numbers = iter(draw(st.permutations([*range(1, 25), 1000, 2**29 - 1])))
        lines = [self._member(numbers) for _ in range(draw(st.integers(0, 6)))]
        self.types.append(full)
        parts = lines + inner if draw(st.booleans()) else inner + lines
        return [f"message {name} {{ {' '.join(parts)} }}", *outer]

    def _enum(self, within: str) -> str:
        name = self._next("E")
        self.enums.append(f"{within}{name}")
        alias = f" option allow_alias = true; {name}_SAME = 0;" if self.draw(st.booleans()) else ""
        return f"enum {name} {{ {name}_A = 0; {name}_B = 1000; {name}_c = -7;{alias} }}"

    def _member(self, numbers: Any) -> str:
        match self.draw(st.integers(0, 7)):
            case 0:
                fields = [self._field("", next(numbers)) for _ in range(self.draw(st.integers(1, 3)))]
                return f"oneof {self._next('o')} {{ {' '.join(fields)} }}"
            case 1:
                key, (value, _) = self.draw(st.sampled_from(_KEYS)), self._type()
                return f"map<{key}, {value}> {self._name()} = {next(numbers)};"
            case 2 | 3:
                return self._field("repeated ", next(numbers))
            case _:
                labels = ["optional ", "required "] if self.is_proto2 else ["", "", "optional "]
                return self._field(self.draw(st.sampled_from(labels)), next(numbers))

    def _name(self) -> str:
        return self._next(self.draw(st.sampled_from(["f", "F_", "fooBar", "_x", "value_of_"])))

    def _field(self, label: str, number: int) -> str:
        type_, options = self._type()
        if not options and type_ in ("int32", "bool", "double", "sint64") and label == "repeated ":
            options = self.draw(st.sampled_from(["", "[packed = true]", "[packed = false]"]))
        elif self.is_proto2 and not options and type_ in ("int32", "string") and label == "optional ":
            options = self.draw(st.sampled_from(["", f"[default = {7 if type_ == 'int32' else repr('x')}]"]))
        return f"{label}{type_} {self._name()} = {number} {options};"

    def _type(self) -> tuple[str, str]:
        draw = self.draw
        # An enum of proto3 in a message of proto2: see TestKnownDifferences.
        known = tuple(name for name in _KNOWN if not (self.is_proto2 and name == "google.type.DayOfWeek"))
        kinds = [
            _SCALARS,
            _SCALARS,
            known,
            *([self.types] if self.types else []),
            *([self.enums] if self.enums else []),
        ]
        type_ = draw(st.sampled_from(draw(st.sampled_from(kinds))))
        if type_ in self.types or type_ in self.enums:
            return f".{self.package}.{type_}" if self.package and draw(st.booleans()) else type_, ""
        if type_ in _KNOWN:
            self.imports.add(_KNOWN[type_])
        options = (
            draw(_DECIMAL_OPTIONS if type_.endswith("Decimal") else _NARROW)
            if type_.endswith(("Decimal", "int32"))
            else ""
        )
        if options:
            self.imports.add("confluent/meta.proto")
        return type_, options


@st.composite
def proto_texts(draw: DrawFn) -> str:
    """Texts of several messages, none within itself."""
    return _File(draw).text()


_INT32: Final = st.integers(-(2**31), 2**31 - 1)
_INT64: Final = st.integers(-(2**63), 2**63 - 1)
_UINT32: Final = st.integers(0, 2**32 - 1)
_UINT64: Final = st.integers(0, 2**64 - 1)
_T = FieldDescriptor
_VALUES: Final[dict[int, SearchStrategy[Any]]] = {
    **dict.fromkeys((_T.TYPE_INT32, _T.TYPE_SINT32, _T.TYPE_SFIXED32), _INT32),
    **dict.fromkeys((_T.TYPE_INT64, _T.TYPE_SINT64, _T.TYPE_SFIXED64), _INT64),
    **dict.fromkeys((_T.TYPE_UINT32, _T.TYPE_FIXED32), _UINT32),
    **dict.fromkeys((_T.TYPE_UINT64, _T.TYPE_FIXED64), _UINT64),
    _T.TYPE_DOUBLE: st.floats(),
    _T.TYPE_FLOAT: st.floats(width=32),
    _T.TYPE_BOOL: st.booleans(),
    _T.TYPE_STRING: st.text(max_size=5),
    _T.TYPE_BYTES: st.binary(max_size=5),
}
_LOGICAL: Final[dict[str, SearchStrategy[dict[str, Any]]]] = {
    "google.protobuf.Timestamp": st.fixed_dictionaries(
        {
            "seconds": st.integers(-62_135_596_801, 253_402_300_800) | st.integers(-2, 2),
            "nanos": st.integers(0, 999_999_999) | st.sampled_from([0, 1, 999_999, 10**9, -1]),
        }
    ),
    "google.type.Date": st.fixed_dictionaries(
        {
            "year": st.integers(1, 9999) | st.sampled_from([1582, 1900, 2000, 2024]),
            "month": st.integers(1, 12) | st.integers(-1, 14),
            "day": st.integers(1, 28) | st.integers(-1, 33),
        }
    ),
    "google.type.TimeOfDay": st.fixed_dictionaries(
        {
            "hours": st.integers(0, 24) | st.integers(0, 23),
            "minutes": st.integers(0, 60) | st.integers(0, 59),
            "seconds": st.integers(0, 60) | st.integers(0, 59),
            "nanos": st.integers(0, 999_999_999) | st.sampled_from([10**9, -1]),
        }
    ),
    "confluent.type.Decimal": st.fixed_dictionaries(
        {
            "value": st.binary(max_size=6),
            "scale": st.integers(0, 4) | st.integers(-3, 30),
            "precision": st.integers(0, 16) | st.just(2**32 - 1),
        }
    ),
}


def bodies_of(message: Descriptor) -> SearchStrategy[bytes]:
    """Messages of a type, at most a few levels deep; some are cut off."""
    whole = _messages(message, 4).map(lambda made: made.SerializeToString())
    return whole | whole.flatmap(lambda body: st.integers(0, len(body)).map(lambda end: body[:end]))


def _messages(message: Descriptor, depth: int) -> SearchStrategy[Any]:
    def fill(draw: DrawFn) -> Any:
        made: Any = GetMessageClass(message)()
        if message.full_name in _LOGICAL:
            return GetMessageClass(message)(**draw(_LOGICAL[message.full_name]))
        for field in message.fields:
            if field.is_required or draw(st.booleans()):
                _set(draw, made, field, depth)
        return made

    return st.composite(fill)()


def _set(draw: DrawFn, made: Any, field: FieldDescriptor, depth: int) -> None:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        key, value = inner.fields
        for _ in range(draw(st.integers(0, 2))):
            at = draw(_VALUES[key.type])
            if value.message_type is not None:
                getattr(made, field.name)[at].CopyFrom(draw(_messages(value.message_type, depth - 1)))
            else:
                getattr(made, field.name)[at] = draw(_values(value))
    elif inner is not None:
        if depth or field.is_required:
            for _ in range(draw(st.integers(0, 2)) if field.is_repeated else 1):
                part = getattr(made, field.name)
                (part.add() if field.is_repeated else part).CopyFrom(draw(_messages(inner, depth - 1)))
                if not field.is_repeated:
                    part.SetInParent()
    elif field.is_repeated:
        getattr(made, field.name).extend(draw(st.lists(_values(field), max_size=3)))
    else:
        setattr(made, field.name, draw(_values(field)))


def _values(field: FieldDescriptor) -> SearchStrategy[Any]:
    if field.enum_type is not None:
        known = st.sampled_from([value.number for value in field.enum_type.values])
        return known if field.enum_type.is_closed else known | _INT32
    return _VALUES[field.type]
