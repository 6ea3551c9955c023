"""The front's rows beside an oracle of plain dicts: any letter case, and times as the integers that were written."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroDeserializer, JsonDeserializer, JsonSerializer, RegistryClient, confluent

Type: TypeAlias = "str | tuple[str, Any]"
"""A column's type: a word, or ARRAY, MAP or STRUCT with what is in it."""

_LONG: Final = st.integers(-(2**63), 2**63 - 1)
_INT: Final = st.integers(-(2**31), 2**31 - 1)
_SCALARS: Final[dict[str, tuple[Any, st.SearchStrategy[Any]]]] = {
    "INT": ("int", _INT),
    "BIGINT": ("long", _LONG),
    "STRING": ("string", st.text(st.characters(codec="utf-8"))),
    "BOOLEAN": ("boolean", st.booleans()),
    "DATE": ({"type": "int", "logicalType": "date"}, _INT),
    "TIME": ({"type": "int", "logicalType": "time-millis"}, _INT),
    "TIMESTAMP": ({"type": "long", "logicalType": "timestamp-millis"}, _LONG),
}


def _parts(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.dictionaries(st.sampled_from(["a", "B", "cD"]), inner, min_size=1)
    return st.tuples(st.sampled_from(["ARRAY", "MAP"]), inner) | st.tuples(st.just("STRUCT"), fields)


types: Final[st.SearchStrategy[Type]] = st.recursive(st.sampled_from(sorted(_SCALARS)), _parts, max_leaves=4)


def _avro(type_: Type, path: str) -> Any:
    match type_:
        case "ARRAY", inner:
            return {"type": "array", "items": ["null", _avro(inner, path)]}
        case "MAP", inner:
            return {"type": "map", "values": ["null", _avro(inner, path)]}
        case "STRUCT", fields:
            parts = [{"name": name, "type": ["null", _avro(part, path + name)]} for name, part in fields.items()]
            return {"type": "record", "name": path, "fields": parts}
    return _SCALARS[str(type_)][0]


def _words(type_: Type) -> str:
    match type_:
        case "ARRAY", inner:
            return f"ARRAY<{_words(inner)}>"
        case "MAP", inner:
            return f"MAP<STRING, {_words(inner)}>"
        case "STRUCT", fields:
            return f"STRUCT<{', '.join(f'{name} {_words(part)}' for name, part in fields.items())}>"
    return str(type_)


def _values(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case "ARRAY", inner:
            return st.none() | st.lists(_values(inner), max_size=3)
        case "MAP", inner:
            return st.none() | st.dictionaries(st.sampled_from("abC"), _values(inner))
        case "STRUCT", fields:
            return st.none() | st.fixed_dictionaries({name: _values(part) for name, part in fields.items()})
    return st.none() | _SCALARS[str(type_)][1]


def _upper(type_: Type, value: Any) -> Any:
    match type_:
        case "ARRAY", inner:
            return value and [_upper(inner, item) for item in value]
        case "MAP", inner:
            return value and {key: _upper(inner, item) for key, item in value.items()}
        case "STRUCT", fields:
            return value and {name.upper(): _upper(part, value[name]) for name, part in fields.items()}
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), fields=st.dictionaries(st.sampled_from(["id", "Name", "TAGS"]), types, min_size=1))
def test_rows_are_the_oracles(data: st.DataObject, fields: dict[str, Type]) -> None:
    record: Type = ("STRUCT", fields)
    row = data.draw(st.fixed_dictionaries({name: _values(part) for name, part in fields.items()}))
    columns = ", ".join(f"{name} {_words(part)}" for name, part in fields.items())
    with FixtureRegistry() as server, RegistryClient(server.url) as registry:
        conf = {"times": "integers"}
        payload = confluent.AvroSerializer(registry, json.dumps(_avro(record, "R")), conf=conf)(row, "t")
        front = confluent.AvroDeserializer(registry, columns=columns, conf=conf)
        wanted = _upper(record, row)
        assert front(payload, "t") == wanted
        assert AvroDeserializer(registry, columns=columns, times="integers")(payload, "t") == wanted
        assert confluent.AvroDeserializer(registry, conf=conf)(payload, "t") == row
        again = confluent.AvroSerializer(registry, columns=columns, conf=conf)(row, "t-columns")
        assert front(again, "t-columns") == wanted
    document = JsonSerializer(columns, times="integers")(row, "t")
    assert JsonDeserializer(columns, times="integers")(document, "t") == wanted
