"""Generated classes, compiled by protoc when they are first asked for, and messages of them."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

from google.protobuf.message import Message
from hypothesis import strategies as st

from srfix.serde.formats.protobuf.descriptors import _installed

FILES = {
    "drop_in/base.proto": """
        syntax = "proto3";
        package drop.base;
        enum Colour { NO_COLOUR = 0; RED = 1; GREEN = -2; }
        message Money { string currency = 1; int64 units = 2; sint32 nanos = 3; }
    """,
    "drop_in/common.proto": """
        syntax = "proto3";
        package drop.common;
        import "drop_in/base.proto";
        message Price { drop.base.Money money = 1; repeated drop.base.Colour colours = 2; }
    """,
    "drop_in/order.proto": """
        syntax = "proto3";
        package drop;
        import "drop_in/base.proto";
        import "drop_in/common.proto";
        import "google/protobuf/any.proto";
        import "google/protobuf/struct.proto";
        import "google/protobuf/timestamp.proto";
        import "google/protobuf/wrappers.proto";
        import "google/type/date.proto";
        message First { string name = 1; }
        message Order {
            message Line {
                message Tax { double rate = 1; }
                map<string, Tax> taxes = 1;
                fixed64 amount = 2;
                oneof kind { string text = 3; drop.common.Price price = 4; bool is_gift = 5; }
            }
            int64 id = 1;
            optional string note = 2;
            repeated Line lines = 3;
            map<int32, bytes> blobs = 4;
            repeated sint64 numbers = 5;
            drop.base.Colour colour = 6;
            google.protobuf.Timestamp at = 7;
            google.protobuf.Int64Value maybe = 8;
            google.protobuf.Any any = 9;
            google.type.Date day = 10;
            Order parent = 11;
            float ratio = 12;
            google.protobuf.Value value = 13;
        }
        message Empty {}
    """,
    "drop_in/old.proto": """
        syntax = "proto2";
        package drop.old;
        message Old {
            required string key = 1;
            optional uint32 count = 2 [default = 7];
            repeated int32 numbers = 3 [packed = true];
            optional Inner inner = 4;
            optional Kind kind = 5 [default = B];
            repeated group Part = 6 { required bool ok = 7; }
            enum Kind { A = 1; B = 2; }
            message Inner { required bytes data = 1; }
        }
    """,
}
NAMES = {
    "First": (0,),
    "Order": (1,),
    "Order.Line": (1, 0),
    "Order.Line.Tax": (1, 0, 0),
    "Empty": (2,),
    "base.Money": (0,),
    "common.Price": (0,),
    "old.Old": (0,),
    "old.Old.Inner": (0, 1),
}
"""Messages, without the package `drop`, and their indexes: entries of maps and groups count, where they stand."""


@lru_cache(maxsize=1)
def _modules() -> tuple[Any, ...]:
    folder = mkdtemp(prefix="srfix-test-protos-")
    for name, text in FILES.items():
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    protobuf_files, types = _installed()
    includes = [f"-I{one}" for one in (folder, protobuf_files, types.parent.parent)]
    protoc = importlib.import_module("grpc_tools.protoc")
    assert protoc.main(["protoc", *includes, f"--python_out={folder}", *FILES]) == 0
    sys.path.insert(0, folder)
    return tuple(importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2") for name in FILES)


def message_class(name: str) -> Any:
    """A generated class, by its name within the package `drop`."""
    package, _, rest = name.rpartition(".") if name.split(".")[0] in ("base", "common") else ("", "", name)
    if name.startswith("old."):
        package, rest = "old", name.removeprefix("old.")
    full = f"drop.{package}" if package else "drop"
    found: Any = next(one for one in _modules() if full == one.DESCRIPTOR.package)
    for part in rest.split("."):
        found = getattr(found, part)
    return found


_TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
_SCALARS = {
    1: st.floats(width=64),
    2: st.floats(width=32),
    3: st.integers(-(2**63), 2**63 - 1),
    4: st.integers(0, 2**64 - 1),
    5: st.integers(-(2**31), 2**31 - 1),
    6: st.integers(0, 2**64 - 1),
    7: st.integers(0, 2**32 - 1),
    8: st.booleans(),
    9: _TEXT,
    12: st.binary(max_size=5),
    13: st.integers(0, 2**32 - 1),
    15: st.integers(-(2**31), 2**31 - 1),
    16: st.integers(-(2**63), 2**63 - 1),
    17: st.integers(-(2**31), 2**31 - 1),
    18: st.integers(-(2**63), 2**63 - 1),
}
"""By `FieldDescriptor.type`."""


@st.composite
def messages(draw: st.DrawFn, message_type: Any, levels: int = 3) -> Message:
    """Messages of a class: each of its fields there or not; a required one always."""
    message: Any = message_type()
    for field in message_type.DESCRIPTOR.fields:
        if not field.is_required and (not levels or draw(st.booleans())):
            continue
        target = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
            for each in draw(st.lists(_SCALARS[key.type], max_size=2, unique=True)):
                if value.message_type is None:
                    target[each] = draw(_scalar(value))
                else:
                    target[each].CopyFrom(draw(messages(type(target[each]), levels - 1)))
        elif field.message_type is not None:
            for one in [target.add() for _ in range(draw(st.integers(0, 2)))] if field.is_repeated else [target]:
                one.CopyFrom(draw(messages(type(one), max(levels - 1, 0))))
                one.SetInParent()
        elif field.is_repeated:
            target.extend(draw(st.lists(_scalar(field), max_size=3)))
        else:
            setattr(message, field.name, draw(_scalar(field)))
    return cast("Message", message)


def _scalar(field: Any) -> st.SearchStrategy[Any]:
    if field.enum_type is None:
        return _SCALARS[field.type]
    return st.sampled_from([value.number for value in field.enum_type.values])
