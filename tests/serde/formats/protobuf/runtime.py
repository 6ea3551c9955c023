"""The protobuf runtime, used plainly: classes of a text, compiled by protoc's own command, without a line of srfix."""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

P2: Final = 'syntax = "proto2"; '
P3: Final = 'syntax = "proto3"; '
IMPORTS: Final = "".join(
    f'import "{name}.proto"; '
    for name in (
        "confluent/meta", "confluent/type/decimal", "google/type/date", "google/type/timeofday", "google/protobuf/timestamp",
        "google/protobuf/wrappers", "google/protobuf/any", "google/protobuf/duration", "google/protobuf/empty",
    )
)  # fmt: skip
_META: Final = (
    P3 + 'package confluent; import "google/protobuf/descriptor.proto"; message Meta { string doc = 1; '
    "map<string, string> params = 2; } extend google.protobuf.FieldOptions { Meta field_meta = 1088; }"
)
_DECIMAL: Final = (
    P3 + "package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
)


@cache
def message_class(text: str, name: str = "M") -> Any:
    """The class of a message of a text."""
    # Without types.
    protoc: Any = import_module("grpc_tools.protoc")
    google_type: Any = import_module("google.type")

    with TemporaryDirectory() as folder:
        for path, content in (("confluent/meta", _META), ("confluent/type/decimal", _DECIMAL), ("x", text)):
            file = Path(folder, f"{path}.proto")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        includes = [
            folder,
            str(resources.files("grpc_tools") / "_proto"),
            str(Path(google_type.__path__[0]).parents[1]),
        ]
        out = Path(folder, "out")
        command = [
            "protoc",
            *(f"-I{include}" for include in includes),
            "--include_imports",
            f"--descriptor_set_out={out}",
        ]
        assert protoc.main([*command, "x.proto"]) == 0, text
        pool = DescriptorPool()
        for each in FileDescriptorSet.FromString(out.read_bytes()).file:
            pool.Add(each)
    return GetMessageClass(pool.FindMessageTypeByName(name))
