"""Whether one Protobuf schema may follow another, by the rules of Confluent's registry (`SchemaDiff` and what it calls).

The rules are the registry's, not Protobuf's: a removed message is incompatible even if no payload holds it, but a field number
that is reused for another name is compatible. Extensions and groups are not compared. Changes that
`SchemaDiff.COMPATIBLE_CHANGES` lists are not reported: changes to packages, enums and their constants, reserved numbers, field
names, and fields without `required`; new oneofs, and new fields in oneofs; a `string` or `bytes` field that becomes repeated or
stops being repeated. These are the rules of 7.9.9 and 8.2.1. Later releases also compare a field that moves to another oneof
(pull request 4385), and have a policy LOGICAL that takes reserved numbers into account (4589).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from srfix.serde.bounds import COMPATIBILITY_REASONS
from srfix.serde.errors import SchemaError
from srfix.serde.formats.protobuf.descriptors import is_proto3, local_name, messages_within, oneofs_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

    from srfix.serde.formats.protobuf.descriptors import Compiled

_TEXT: Final = ("STRING", "BYTES")
_GROUP_OF: Final[dict[int, tuple[str, ...]]] = {
    FieldDescriptorProto.Type.Value(f"TYPE_{name}"): group
    for group in (
        *(("INT32", "INT64", "UINT32", "UINT64", "BOOL", "ENUM"), ("SINT32", "SINT64"), _TEXT),
        *(("FIXED32", "SFIXED32"), ("FIXED64", "SFIXED64"), ("FLOAT",), ("DOUBLE",)),
    )
    for name in group
}
"""Scalar type → the types that can read its payloads, and the reverse (`FieldSchemaDiff.scalarKind`)."""


def cannot_read(update: Compiled, original: Compiled) -> list[str]:
    """Why one schema cannot read another's payloads (`ProtobufSchema.isBackwardCompatible`), sorted."""
    old, new = original.file, update.file
    comparison = _Comparison(old.name, new.name)
    try:
        differences = {*comparison.types(old.message_types_by_name, new.message_types_by_name, "#")}
    except RecursionError:
        raise SchemaError("The schemas nest too deep to be compared.") from None
    return sorted(f"{difference}." for difference in differences)[:COMPATIBILITY_REASONS]


class _Field(NamedTuple):
    type: FieldDescriptor
    label: str | None
    """The label in the text; None if the text has none."""
    oneof: str | None


def _fields(message: Descriptor) -> dict[int, _Field]:
    """The fields by number, without groups. A proto3 field with `optional` does not count as a field in a oneof."""
    oneofs, fields = oneofs_of(message), {}
    for field in message.fields:
        oneof = field.containing_oneof
        name = oneof.name if oneof is not None and oneof in oneofs else None
        has_label = name is None and (field.is_repeated or oneof is not None or not is_proto3(message.file))
        label = "required" if field.is_required else "repeated" if field.is_repeated else "optional"
        if field.type != field.TYPE_GROUP:
            fields[field.number] = _Field(field, label if has_label else None, name)
    return fields


class _Comparison:
    def __init__(self, old_file: str, new_file: str) -> None:
        self._files = old_file, new_file
        self._compared: set[tuple[str, str]] = set()

    def types(self, old: Mapping[str, Descriptor], new: Mapping[str, Descriptor], path: str) -> Iterator[str]:
        """`SchemaDiff.compareTypeElements`: messages are matched by name, and their order does not matter."""
        for name, message in old.items():
            if name in new:
                yield from self._messages(message, new[name], f"{path}/{name}")
            else:
                yield f"MESSAGE_REMOVED: the message {path}/{name} was removed"

    def _messages(self, old_message: Descriptor, new_message: Descriptor, path: str) -> Iterator[str]:
        """`MessageSchemaDiff.compare`, `OneOfDiff.compare`."""
        pair = (old_message.full_name, new_message.full_name)
        if pair in self._compared:
            return
        self._compared.add(pair)
        old, new = _fields(old_message), _fields(new_message)
        oneofs = {field.oneof: f"{path}/{field.oneof}" for field in new.values() if field.oneof is not None}
        for oneof, place in oneofs.items():
            before = [old[number].oneof for number, field in new.items() if field.oneof == oneof and number in old]
            if before.count(None) > 1:
                yield f"MULTIPLE_FIELDS_MOVED_TO_ONEOF: {place} has several fields that were in no oneof before"
            elif None in before and len(before) > 1:
                yield f"FIELD_MOVED_TO_EXISTING_ONEOF: {place} has a field that was in no oneof before"
        for number in sorted(old.keys() | new.keys()):
            was, now = old.get(number), new.get(number)
            if was is not None and now is not None and was.oneof == now.oneof:
                place = path if was.oneof is None else oneofs[was.oneof]
                yield from self._field(was, now, f"{place}/{number}")
                continue
            if was is not None and was.oneof in oneofs:
                yield f"ONEOF_FIELD_REMOVED: the field {oneofs[was.oneof]}/{number} was removed from the oneof"
            elif now is None and was is not None and was.label == "required":
                yield f"REQUIRED_FIELD_REMOVED: the required field {path}/{number} was removed"
            if now is not None and now.label == "required":
                yield f"REQUIRED_FIELD_ADDED: the field {path}/{number} is new and required"
        inner, new_inner = ({one.name: one for one in messages_within(whole)} for whole in (old_message, new_message))
        yield from self.types(inner, new_inner, path)

    def _field(self, was: _Field, now: _Field, path: str) -> Iterator[str]:
        """`FieldSchemaDiff.compare`."""
        yield from self._compare_types(was.type, now.type, path)
        group, labels = _GROUP_OF.get(was.type.type, _TEXT), {was.label, now.label}
        if group is not _TEXT and group == _GROUP_OF.get(now.type.type) and len(labels) == 2 and None not in labels:
            yield f"FIELD_NUMERIC_LABEL_CHANGED: the numeric field {path} has another label"

    def _compare_types(self, was: FieldDescriptor, now: FieldDescriptor, path: str) -> Iterator[str]:
        old, new = was.message_type, now.message_type
        if _kind(old) != _kind(new):
            yield f"FIELD_KIND_CHANGED: {path} was changed between a scalar, a message and a map"
        elif old is None or new is None:
            if _GROUP_OF[was.type] != _GROUP_OF[now.type]:
                yield f"FIELD_SCALAR_KIND_CHANGED: {path} has a type that cannot read payloads of the old type"
        elif _kind(old) == "map":
            for part in ("key", "value"):
                yield from self._compare_types(old.fields_by_name[part], new.fields_by_name[part], path)
        elif (name := local_name(old)) != local_name(new):
            yield f"FIELD_NAMED_TYPE_CHANGED: {path} has another message type"
        elif (old.file.name, new.file.name) != self._files:
            # An imported message is compared at each field that has it as its type (`FieldSchemaDiff.compareMessageTypes`).
            inner = [*self._messages(old, new, f"#/{name.replace('.', '/')}")]
            yield from inner
            if inner:
                yield f"FIELD_NAMED_TYPE_CHANGED: {path} has an incompatibly changed message type"


def _kind(message: Descriptor | None) -> str:
    if message is None:
        return "scalar"
    return "map" if message.GetOptions().map_entry else "message"
