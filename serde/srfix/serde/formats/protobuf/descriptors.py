"""Schema texts → descriptors, by protoc itself, from grpcio-tools (extra `protobuf`): no other compiler has its rules
for scopes, options and editions, and it reports all problems at once. It runs in this process (0.2 ms for a schema),
and reads files, so a text stands in a temporary folder while it is compiled."""

from __future__ import annotations

import ast
import base64
import binascii
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, resources
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

from srfix.serde.bounds import PROTOBUF_SCHEMA_LEVELS
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.forking import ForkLock
from srfix.serde.schemas.references import reference_name

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, OneofDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

_FILE: Final = "srfix_schema.proto"
"""The file of the schema itself. In a registry it has no name."""
META: Final = "confluent/meta.proto"
_CONFLUENT: Final = {
    META: """
        syntax = "proto3";
        package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
    """,
    "confluent/type/decimal.proto": """
        syntax = "proto3";
        package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
    """,
}
"""The files that every registry knows without a reference (`ProtobufSchema`). No package on PyPI contains only these."""
KNOWN_IMPORTS: Final = ("confluent/", "google/protobuf/", "google/type/")
"""The prefixes of the imports that every registry knows (confluent-kafka's `_is_builtin`)."""
_SYNTAX: Final = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*+(?:syntax|edition)\b", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""//[^\n]*+|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|(?P<opens>[{\[<(])|(?P<closes>[}\]>)])""",
    re.DOTALL,
)
"""Brackets. Comments and strings match as a whole, because brackets inside them do not count."""
_META: Final = re.compile(r"\(\s*\.?confluent\.\w+_meta\b")
_MAP_ENTRY: Final = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_MARK: Final = "option no_standard_descriptor_accessor = false;"
"""Replaces the option above for protoc, which refuses that one in every text. Schemas do not use this one: it concerns only
C++, and false is its default."""
_BARE_DEFAULT: Final = re.compile(r"(\bbytes\s+\w+\s*=\s*\w+\s*\[[^\]\[]*?\bdefault\s*=\s*+)(?![\"'])([^,\]\n]+)")
"""The default of a bytes field as the registry writes it: without quotes (`ProtobufSchemaUtils.toKind`)."""
_GOOGLE_TYPE: Final = re.compile(r"google/type/(\w+\.proto)")
_ADDED_FILE: Final = re.compile(rb"^ *DESCRIPTOR = .*\.AddSerializedFile\((b'.*')\)$", re.MULTILINE)
_MESSAGE: Final = re.compile(r"\bmessage\s+\w+\s*\{")
_LENIENT: Final = " option deprecated_legacy_json_field_conflicts = true;"
_SHOWN_PROBLEMS: Final = 5
_REFERENCES: Final = (
    " srfix takes imported files from the registry, and for --schema @FILE from the folder of FILE and those above. Register "
    "each file, and name it in the schema's references (Schema(text=…, schema_type='PROTOBUF', references=…)), or write under "
    "the id of a registered schema."
)
_SHOWN_NAMES: Final = 10
_PROTOC: Final = ForkLock()
"""Only one thread at a time can run protoc, because it keeps its errors in a global variable."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema, compiled."""

    file: FileDescriptor
    pool: DescriptorPool
    """Holds only the schema and its imports, because two schemas can give the same name to different messages."""
    is_descriptor: bool = True
    """Whether a client sent the schema as a descriptor. Then message indexes also count the messages of map entries and
    groups."""

    def message(self, indexes: tuple[int, ...] = (0,)) -> Descriptor:
        """By indexes in the file, then in the message before (`ProtobufSchema.toMessageName`); or an IndexError."""
        message = None
        for index in indexes:
            message = self._messages(message)[index]
        return cast("Descriptor", message)

    def named(self, full_name: str) -> Descriptor:
        """One of the schema's own messages, not of an import."""
        with suppress(KeyError):
            message = self.pool.FindMessageTypeByName(full_name)
            if message.file.name == self.file.name:
                return message
        own = (one.full_name for one in self._with_imports() if one.file.name == self.file.name)
        names = [*islice(own, _SHOWN_NAMES + 1)]
        shown = ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "") or "none"
        raise SchemaError(
            f"The schema has no message {full_name}. Name one that it has ({shown}), or take another schema."
        )

    def as_ksqldb_finds(self, name: str | None) -> Descriptor:
        """A message of the schema or of an import: first the one that has this name without its package, unless several have
        it, then the one with this full name (`DynamicSchema.getMessageDescriptor`). Without a name, the first message."""
        if name is None:
            return self.message()
        messages = [*self._with_imports()]
        short = [one for one in messages if local_name(one) == name]
        full = [one for one in messages if one.full_name == name]
        chosen = short if len(short) == 1 else full
        return chosen[0] if chosen else self.named(name)

    def _with_imports(self) -> Iterator[Descriptor]:
        files = [self.file]
        for file in files:  # the list grows by the imports of each
            files += [part for part in file.dependencies if part not in files]
            waiting = [*file.message_types_by_name.values()][::-1]
            while waiting:
                yield (message := waiting.pop())
                waiting += self._messages(message)[::-1]

    def indexes(self, message: Descriptor) -> tuple[int, ...]:
        """The message indexes of one of the schema's messages (`ProtobufSchema.toMessageIndexes`)."""
        parent = message.containing_type
        own = [one.full_name for one in self._messages(parent)].index(message.full_name)
        return (*(() if parent is None else self.indexes(parent)), own)

    def _messages(self, parent: Descriptor | None) -> list[Descriptor]:
        if parent is None:
            messages = list(self.file.message_types_by_name.values())
            if not messages:
                raise SchemaError(
                    "The Protobuf schema has no message, but a payload is a message. Name another schema."
                )
            return messages
        return list(parent.nested_types) if self.is_descriptor else messages_within(parent)

    def meta(self, field: FieldDescriptor) -> dict[str, str]:
        """The parameters of `confluent.field_meta`. Options that are not UTF-8, which protoc accepts, are refused."""
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        if not field.has_options:
            return {}
        try:
            extension = self.pool.FindExtensionByName("confluent.field_meta")
        except KeyError:
            return {}
        # The class must be made from this pool, because the runtime's own class does not know the pool's extensions.
        options = GetMessageClass(self.pool.FindMessageTypeByName("google.protobuf.FieldOptions"))
        try:
            parsed: Any = options.FromString(field.GetOptions().SerializeToString())
        except DecodeError as error:
            raise SchemaError(f"The options of the field {field.full_name} cannot be read ({error}).") from error
        return dict(parsed.Extensions[extension].params)


def message_of(field: FieldDescriptor) -> Descriptor:
    message = field.message_type
    assert message is not None
    return message


def local_name(message: Descriptor) -> str:
    """The message's name without its package."""
    return message.full_name.removeprefix(f"{message.file.package}.")


def messages_within(message: Descriptor) -> list[Descriptor]:
    """The messages that a text has within a message: without those of groups and map entries."""
    groups = {field.message_type for field in message.fields if field.type == field.TYPE_GROUP}
    return [one for one in message.nested_types if one not in groups and not one.GetOptions().map_entry]


def oneofs_of(message: Descriptor) -> list[OneofDescriptor]:
    """The oneofs of a message, without those that merely represent a proto3 `optional`."""
    from google.protobuf.descriptor_pb2 import DescriptorProto

    proto = DescriptorProto()
    message.CopyToProto(proto)  # only the proto shows it
    optionals = {field.oneof_index for field in proto.field if field.proto3_optional}
    return [oneof for oneof in message.oneofs if oneof.index not in optionals]


@lru_cache(maxsize=256)
def is_proto3(file: FileDescriptor) -> bool:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto.syntax == "proto3"


def class_of(message: Descriptor) -> Any:
    """The runtime's class of a message."""
    from google.protobuf.message_factory import GetMessageClass

    try:
        return GetMessageClass(message)
    except RecursionError:  # it makes a message's class before those of its fields, one call within the other
        for part in reversed([*messages_in(message)]):
            GetMessageClass(part)
        return GetMessageClass(message)


def messages_in(*messages: Descriptor) -> Iterator[Descriptor]:
    """Messages' types and the types of all messages in them, each once."""
    left, seen = [*messages], {message.full_name for message in messages}
    while left:
        yield (part := left.pop())
        for field in part.fields:
            inner = field.message_type
            if inner is not None and inner.full_name not in seen:
                seen.add(inner.full_name)
                left.append(inner)


@lru_cache(maxsize=256)
def compiled(text: str, references: tuple[str, ...] = ()) -> Compiled:
    """The descriptors of .proto text, or of the base64 of a FileDescriptorProto, which confluent-kafka registers
    (`ProtobufSchema`'s constructor takes both). `references` are its direct and indirect imports."""
    pool = _library("google.protobuf.descriptor_pool").DescriptorPool()
    named = {name: part for part in references if (name := reference_name(part))}
    # Each file stands after its own imports, because references come in this order.
    serialized = {name: file for name, part in {**named, _FILE: text}.items() if (file := serialized_file(part))}
    texts = {**_CONFLUENT, **{name: part for name, part in named.items() if name not in serialized}}
    if _FILE in serialized:
        # The imports of serialized files are compiled as the imports of a file that contains nothing else.
        imports = dict.fromkeys(
            name for file in serialized.values() for name in file.dependency if name not in serialized
        )
        protos = _protoc("".join(f'import "{name}";\n' for name in imports), texts)[:-1]
        for name, file in serialized.items():
            file.name = name
            protos.append(file)
    else:
        protos = _protoc(text, texts)
    try:
        for proto in protos:
            pool.Add(proto)
        file = pool.FindFileByName(_FILE)
    except (TypeError, KeyError) as error:
        raise SchemaError(f"The Protobuf schema cannot be used ({error}).") from error
    return Compiled(file, pool, _FILE in serialized or _MAP_ENTRY.search(text) is not None)


def serialized_file(text: str) -> FileDescriptorProto | None:
    """The FileDescriptorProto whose base64 the text is; None for any other text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None


def _protoc(text: str, files: dict[str, str]) -> list[FileDescriptorProto]:
    """The descriptors of a text and of all its imports. Each one stands after its own imports."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    compiler = _library("grpc_tools._protoc_compiler")
    try:
        folder = TemporaryDirectory(prefix="srfix-proto-")
    except OSError as error:
        raise UsageError(
            f"srfix compiles Protobuf schemas in a temporary folder, but cannot create one ({error.strerror}). Set TMPDIR to "
            "a folder in which srfix can write."
        ) from error
    with folder as name:
        for path, content in {**_google_types(text, files), **files, _FILE: text}.items():
            _check_nesting(content)
            _write(Path(name), path, _as_protoc_wants(content))
        includes = [os.fsencode(include) for include in (name, _installed()[0])]
        try:
            found = _compile(compiler, includes)
        except SchemaError as error:
            if "JSON name" not in error.message:
                raise
            # Only protoc refuses fields such as USER_ID beside USERID. ksqlDB and the registry accept them.
            _write(Path(name), _FILE, _MESSAGE.sub(lambda begin: begin[0] + _LENIENT, _as_protoc_wants(text)))
            try:
                found = _compile(compiler, includes)
            except SchemaError:
                raise error from None
    try:
        protos = [FileDescriptorProto.FromString(_descriptor_in(code)) for code in found]
    except DecodeError as error:  # a text in an option that the process knows is not UTF-8
        raise SchemaError(f"The options of the Protobuf schema cannot be read ({error}).") from error
    for proto in protos:
        _mark_entries(proto.message_type)
    return protos


def _compile(compiler: Any, includes: list[bytes]) -> list[bytes]:
    try:
        with _PROTOC, warnings.catch_warnings():
            warnings.simplefilter("ignore", compiler.ProtocWarning)
            return [code for _, code in compiler.get_protos(_FILE.encode(), includes)]
    except compiler.ProtocErrors as errors:
        raise SchemaError(f"The text is not a Protobuf schema: {_problems(errors.errors())}") from None


def _mark_entries(messages: Iterable[DescriptorProto]) -> None:
    for message in messages:
        if message.options.HasField("no_standard_descriptor_accessor"):
            message.options.ClearField("no_standard_descriptor_accessor")
            message.options.map_entry = True
        _mark_entries(message.nested_type)


def _descriptor_in(code: bytes) -> bytes:
    """The file's descriptor, from the Python module that protoc generates. Only this way prints nothing."""
    if (call := _ADDED_FILE.search(code)) is None:
        raise SchemaError(
            "protoc generated a module without a descriptor: srfix does not know this version of grpcio-tools."
        )
    return cast("bytes", ast.literal_eval(call[1].decode()))


def _as_protoc_wants(text: str) -> str:
    """A text with a syntax (protoc otherwise writes a warning to the terminal), with the import of Confluent's options,
    which their converter leaves out (`ProtobufData.fromConnectSchema`), with quotes around bytes, and with `_MARK` for
    `map_entry`, which the registry writes if it was sent the schema as a descriptor (`ProtobufSchema.toMessage`)."""
    syntax = "" if _SYNTAX.match(text) else 'syntax = "proto2";'
    imported = f'\nimport "{META}";' if _META.search(text) and META not in text else ""
    quoted = _BARE_DEFAULT.sub(lambda found: f'{found[1]}"{found[2].strip()}"', text)
    return f"{syntax}{_MAP_ENTRY.sub(_MARK, quoted)}{imported}"


def _check_nesting(text: str) -> None:
    """Protects the process: protoc reads an option's value by recursion without a limit."""
    level = 0
    for token in _TOKEN.finditer(text):
        level = max(level + bool(token["opens"]) - bool(token["closes"]), 0)
        if level > PROTOBUF_SCHEMA_LEVELS:
            raise SchemaError(f"The Protobuf schema nests deeper than {PROTOBUF_SCHEMA_LEVELS} levels.")


def _write(folder: Path, name: str, text: str) -> None:
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(folder) or path == folder or "\0" in name:
        raise SchemaError(f"The reference {name!r} has a name that no import can have.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise SchemaError(f"The text named {name!r} cannot be compiled ({error}).") from error


def _google_types(text: str, files: dict[str, str]) -> dict[str, str]:
    """The imported `google/type/*.proto`. protoc gets no others, like the registry (`KNOWN_DEPENDENCIES`)."""
    folder = _installed()[1]
    names = {name for content in (text, *files.values()) for name in _GOOGLE_TYPE.findall(content)}
    paths = {f"google/type/{name}": folder / name for name in sorted(names)}
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.is_file()}


@lru_cache(maxsize=1)
def _installed() -> tuple[str, Path]:
    """The folder of `google/protobuf/*.proto`, and the one with the files of `google/type/`."""
    folders = map(Path, _library("google.type").__path__)  # a namespace package can have several
    types = next(folder for folder in folders if (folder / "date.proto").is_file())
    return str(resources.files("grpc_tools").joinpath("_proto")), types


def _problems(errors: Iterable[Any]) -> str:
    """protoc's messages, with line numbers that begin at 1."""
    problems = []
    for error in errors:
        message, file = (text.decode(errors="replace") for text in (error.message, error.filename))
        name = "" if file == _FILE else file
        where = f"line {error.line + 1}{f' of {name}' if name else ''}" if error.line >= 0 else f"the whole file {name}"
        problems.append(f"{message.rstrip('.')} ({where.rstrip()})")
    more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
    missing, late = (any(part in one for one in problems) for part in ("File not found", "maximum supported edition"))
    advice = (_REFERENCES if missing else "") + (" Upgrade grpcio-tools, which compiles schemas." if late else "")
    return "; ".join(problems[:_SHOWN_PROBLEMS]) + more + "." + advice


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError("Protobuf needs the libraries of the extra: pip install 'srfix[protobuf]'.") from error
