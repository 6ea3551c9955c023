"""confluent-kafka's Protobuf serdes, built from our own parts: the same constructors, configuration, bytes and messages.

>>> from srfix.serde.confluent import ProtobufDeserializer, ProtobufSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = 'syntax = "proto3"; message Order { int64 id = 1; }'
>>> serialize = ProtobufSerializer(None, registry, schema_str=text)  # or a generated class: ProtobufSerializer(Order, registry)
>>> deserialize = ProtobufDeserializer(None, schema_registry_client=registry)
>>> deserialize(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders")).id
7

Without a generated class, srfix makes the messages' classes from the schema (`schema_str`, or the writer's schema in the
registry). The serializer then takes dicts of fields, like `srfix.serde.ProtobufSerializer`, and messages with the name of
the schema's message. The extra `protobuf` installs the libraries.

The differences from confluent-kafka 2.16, besides those of all serdes (`srfix.serde.confluent.avro`):

| what | confluent-kafka | here |
|---|---|---|
| without a generated class | not possible | dynamic messages |
| message indexes under the latest version | the class's; may mean another message | those of the message with this name |
| a message within another one, under the latest version | KeyError | written |
| a schema that the registry returns as text | asks for it serialized | compiles the text |
| use.latest.version of a reader | only migrates by rules | the same; without a class, messages have the latest schema |
| the record name in a reader's subject, without a class | not possible | the schema's message; none if it has several |
| an import that several files share | registered for each of them | registered once |
| message indexes cut off, negative or too large | EOFError, SerializationError, or read | `DecodeError` |
| a message that lacks a required field | its schema is registered anyway | nothing is registered |
| a message of another class | ValueError | `EncodeError`, a ValueError too |

As in confluent-kafka, a generated class is filled from every payload, by the fields' numbers, even if the message indexes name
another message. Without a class, a payload becomes the message that it names.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, cast

from srfix.serde.arguments import text_or_none, type_words
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns
from srfix.serde.confluent.config import AnyPolicy, Conf, SerdeClass, SerdeSettings, check_no_rules, shape_of
from srfix.serde.confluent.deserializer import ConfluentDeserializer
from srfix.serde.confluent.framing import PROTOBUF
from srfix.serde.confluent.serde import References
from srfix.serde.confluent.serializer import ConfluentSerializer
from srfix.serde.confluent.strategies import reference_subject_name_strategy
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import EncodeError, UsageError
from srfix.serde.formats.protobuf.bodies import body_decoder
from srfix.serde.formats.protobuf.bodies import reader as body_reader
from srfix.serde.formats.protobuf.decode import same
from srfix.serde.formats.protobuf.descriptors import KNOWN_IMPORTS, Compiled, compiled
from srfix.serde.formats.protobuf.encode import message_encoder
from srfix.serde.formats.protobuf.indexes import read_indexes
from srfix.serde.formats.table import Format, format_of
from srfix.serde.interface import Context, Value
from srfix.serde.registries.confluent_client import AnySchema
from srfix.serde.registries.given import AnyClient
from srfix.serde.schemas.models import Registration, Schema, SchemaReference, SchemaVersion
from srfix.serde.schemas.references import ReferenceText
from srfix.serde.serdes.plans import decode_plan
from srfix.serde.specs import ReadSpec

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Any)
    """A generated class, or the dataclass of the rows; Any for a class that is made from a schema."""
else:
    from typing import TypeVar

    M = TypeVar("M")


class ProtobufSchema:
    def __init__(
        self,
        text: str,
        references: References,
        _: SerdeSettings,
        *,
        message_type: type[Message] | None = None,
        message_name: str | None = None,
    ) -> None:
        """Without a class or a name, the first message is written. Messages are also read into the class."""
        self._text = text
        self._references = tuple(ReferenceText(referred, name=name) for name, referred in references)
        self._message_type = message_type
        self._own: Any = None if message_type is None else message_type.DESCRIPTOR
        self._message_name = message_name if self._own is None else self._own.full_name
        if message_type is None:
            self._compiled()  # raises an error now if the text is not a schema

    @property
    def record_name(self) -> str | None:
        """None if the schema has several messages, because then only a payload says which one it holds."""
        messages = () if self._own is not None else self._compiled().file.message_types_by_name.values()
        return None if len(messages) > 1 or any(one.nested_types for one in messages) else self.written_name

    @property
    def written_name(self) -> str:
        return cast("str", self._written.full_name)

    @property
    def message_indexes(self) -> tuple[int, ...]:
        written = self._written
        schema = Compiled(written.file, written.file.pool) if written is self._own else self._compiled()
        return schema.indexes(written)

    def _compiled(self) -> Compiled:
        format_of(PROTOBUF)  # raises an error if the libraries are missing
        return compiled(self._text, self._references)

    @cached_property
    def _written(self) -> Any:
        """The message that is written: the class's own message under its own schema, otherwise the message with its name."""
        if self._own is not None and self._text == _file_text(self._own.file):
            return self._own
        return self._compiled().message() if self._message_name is None else self._compiled().named(self._message_name)

    def encoder(self) -> Encode:
        name, message_type = self.written_name, self._message_type
        encode_dict = message_encoder(self._written, None)
        not_written = import_module("google.protobuf.message").EncodeError

        def encode(value: object, prefix: bytes) -> bytes:
            written_name = getattr(getattr(type(value), "DESCRIPTOR", None), "full_name", None)
            if written_name == name if message_type is None else isinstance(value, message_type):
                made: Any = type(value)  # its methods, because a field can have the name of one
                try:
                    return prefix + cast("bytes", made.SerializeToString(value))
                except not_written as error:
                    paths = tuple(made.FindInitializationErrors(value))
                    raise EncodeError(f"The value does not fit its Protobuf schema ({error}).", paths=paths) from error
            if message_type is None and isinstance(value, dict):
                return encode_dict(value, prefix)
            what = f"a message {name}{', or a dict' if message_type is None else ''}"
            raise EncodeError(f"The value is {type_words(value)}; it must be {what}.")

        return encode

    def decoder(self, reader: ProtobufSchema | None) -> Decode:
        """Reads any message into the class; without a class, into the reader's message of the same name."""
        own = self._own
        if own is not None and reader is None:  # without a registry the writer's messages are unknown
            read = body_reader(own, same)
            return lambda payload, body_offset: read(payload[read_indexes(payload, body_offset)[1] :])
        schema = self._compiled()

        def make(indexes: tuple[int, ...]) -> Callable[[bytes], Value]:
            written = schema.message(indexes)
            if own is not None or reader is None:
                return body_reader(written if own is None else own, same)
            # If the reader's schema lacks a message, this is an error only when a payload holds this message.
            named = cache(lambda: body_reader(reader._compiled().named(written.full_name), same))
            return lambda body: named()(body)

        return body_decoder(make, framed=True)

    def columns_decoder(self, reader: ProtobufSchema | None, spec: ReadSpec) -> Decode:
        return decode_plan(Format.PROTOBUF, self._text, spec, self._references)


def _file_text(file: Any) -> str:
    """The text under which confluent-kafka registers a file."""
    return base64.b64encode(file.serialized_pb).decode("ascii")


def _schema(
    message_type: type[Any] | None, schema_str: AnySchema, name: str, message_name: str | None = None
) -> AnySchema:
    """The schema that a constructor was given; for a class, the class's own schema."""
    if message_type is None:
        return schema_str
    if not isinstance(message_type, type) or not hasattr(message_type, "DESCRIPTOR"):
        what = type_words(message_type)
        raise UsageError(f"{name} is {what}; it must be a generated class (not an instance), or None.")
    if schema_str is not None or message_name is not None:
        raise UsageError(
            f"{name} says what the message is. Leave out schema_str and message_name, or leave out {name}."
        )
    return Schema(text=_file_text(message_type.DESCRIPTOR.file), schema_type=PROTOBUF)


class ProtobufSerializer(ConfluentSerializer):
    """Message → Protobuf payload. Called `(message, context)`. Thread-safe."""

    _kind, _schema_type, _make = SerdeClass.PROTOBUF_SERIALIZER, PROTOBUF, ProtobufSchema
    _sources = "msg_type (a generated class); schema_str (the schema to write under)"
    if not TYPE_CHECKING:
        __call__ = ConfluentSerializer._call  # without a detour by the kernel, which does not write Protobuf

    def __init__(
        self,
        msg_type: type[Message] | None,
        schema_registry_client: AnyClient,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        *,
        schema_str: AnySchema = None,
        message_name: str | None = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param msg_type: a generated class. Its file is registered after the files that it imports, as in confluent-kafka.
            None if the other arguments or the configuration name the schema to write under.
        :param schema_str: .proto text, or the base64 of a FileDescriptorProto.
        :param message_name: the full name of the message to write; None for the schema's first message.
        """
        check_no_rules(rule_conf, rule_registry)
        schema = _schema(msg_type, schema_str, "msg_type", text_or_none("message_name", message_name))
        codec_options = {"message_type": msg_type, "message_name": message_name}
        self._begin(schema_registry_client, schema, None, conf, None, codec_options)
        self._message_type = msg_type
        self._remake = partial(type(self), msg_type, conf=conf, schema_str=schema_str, message_name=message_name)

    def _published(self, subject: str, schema: Schema, ctx: Context | None) -> Registration | SchemaVersion:
        if self._message_type is not None:
            imports = self._published_imports(self._message_type.DESCRIPTOR.file, ctx, {})
            schema = replace(schema, references=imports)
        return super()._published(subject, schema, ctx)

    def _published_imports(
        self, file: Any, ctx: Context | None, published: dict[str, SchemaReference]
    ) -> tuple[SchemaReference, ...]:
        """References to the imported files, each published after its own imports (`_resolve_dependencies`)."""
        strategy = self._settings.reference_strategy or reference_subject_name_strategy
        skipped = KNOWN_IMPORTS if self._settings.skip_known_types else ()
        imports = [one for one in file.dependencies if not one.name.startswith(skipped)]
        for imported in imports:
            if imported.name in published:
                continue
            references = self._published_imports(imported, ctx, published)
            schema = Schema(text=_file_text(imported), schema_type=PROTOBUF, references=references)
            subject = strategy(ctx, imported)
            if not isinstance(subject, str):
                raise UsageError(
                    f"reference.subject.name.strategy returned {type_words(subject)} for {imported.name}; it must return a "
                    "subject (a text)."
                )
            if self._settings.auto_register:
                super()._published(subject, schema, ctx)
            version = self._version_of(subject, schema)
            published[imported.name] = SchemaReference(name=imported.name, subject=subject, version=version.version)
        return tuple(published[imported.name] for imported in imports)


class ProtobufDeserializer(ConfluentDeserializer["M | None"], Generic[M]):
    """Protobuf payload → message; None for a tombstone. Called `(payload, context)`. Thread-safe.

    With `columns=` or `into=` it gives rows or a dataclass's instances, as `AvroDeserializer` does.
    """

    _kind, _schema_type, _make = SerdeClass.PROTOBUF_DESERIALIZER, PROTOBUF, ProtobufSchema
    if not TYPE_CHECKING:
        __call__ = ConfluentDeserializer._call  # without a detour by the kernel, which does not read Protobuf

    def __init__(
        self,
        message_type: type[M] | None = None,
        conf: Conf = None,
        schema_registry_client: AnyClient | None = None,
        rule_conf: object = None,
        rule_registry: object = None,
        *,
        schema_str: AnySchema = None,
        columns: GivenColumns | None = None,
        into: type[M] | None = None,
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        strict: bool = False,
        policy: AnyPolicy | None = None,
    ) -> None:
        """See `ConfluentSerde`; columns and their options are those of `AvroDeserializer`.

        :param message_type: a generated class; None to make classes from the writer's schema.
        :param schema_registry_client: None if the class or the reader's schema is enough to read.
        :param schema_str: the reader's schema; its messages have the writer's names. None to read with the writer's schema.
        """
        check_no_rules(rule_conf, rule_registry)
        shape = shape_of(columns, into, case_rule=case_rule, wrap=wrap, strict=strict)
        if shape is not None and message_type is not None:
            raise UsageError("message_type and columns both say what a payload becomes. Leave one of them out.")
        if shape is not None and schema_str is not None and schema_registry_client is not None:
            raise UsageError(
                "With columns and a registry, each payload is read with its writer's schema. Leave out schema_str; or leave "
                "out schema_registry_client, to read every payload with schema_str."
            )
        schema = _schema(message_type, schema_str, "message_type")
        self._begin(schema_registry_client, schema, None, conf, shape, policy, {"message_type": message_type})
        options = {} if shape is None else shape.options
        self._remake = partial(type(self), message_type, conf, schema_str=schema_str, policy=policy, **options)
