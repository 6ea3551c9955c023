"""The formats by name. Each module is loaded at its first use."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from srfix.serde.errors import SchemaError, UsageError

if TYPE_CHECKING:
    from srfix.serde.formats.interface import FormatModule, SchemaFormatModule
    from srfix.serde.schemas.models import Schema
    from srfix.serde.specs import RowSpec

_Spec = TypeVar("_Spec", bound="RowSpec")


class Format(Enum):
    """The formats of bodies, by ksqlDB's names in lower case."""

    AVRO = "avro"
    JSON_SR = "json_sr"
    PROTOBUF = "protobuf"
    JSON = "json"
    KAFKA = "kafka"
    DELIMITED = "delimited"
    NONE = "none"
    PROTOBUF_NOSR = "protobuf_nosr"

    @property
    def word(self) -> str:
        return _TABLE[self].word

    @property
    def schema_type(self) -> str | None:
        """The format's schemaType in registries; None for a format without schemas."""
        return _TABLE[self].schema_type

    @property
    def is_bare(self) -> bool:
        """Whether a body is always one bare value, without a record or a name."""
        return _TABLE[self].wraps is False

    @property
    def is_text(self) -> bool:
        """Whether bodies are text, without a frame."""
        return self in (Format.JSON, Format.DELIMITED)

    @property
    def before_body(self) -> bytes:
        """The bytes between the id or GUID and the body. For Protobuf they name the schema's first message."""
        return _TABLE[self].before_body

    @property
    def is_installed(self) -> bool:
        """Whether the libraries that the format needs are installed."""
        return all(map(_is_there, _TABLE[self].libraries))

    @property
    def wraps(self) -> bool | None:
        """Whether a single column stands in a record by default; None if this is so for a value, but not for a key."""
        return _TABLE[self].wraps

    @property
    def needs_columns(self) -> bool:
        """Whether the format can be read and written only with columns."""
        return self.wraps is not None and self.schema_type is None

    def settled(self, spec: _Spec) -> _Spec:
        """The spec; with the format's own `wrap`, if the format gives the user no choice.

        :raises UsageError: if the user has chosen the other one.
        """
        if not self.needs_columns:
            return spec
        if spec.wrap not in (None, self.wraps):
            raise UsageError(
                f"In {self.word}, a single column {'always' if self.wraps else 'never'} stands in a record. Leave out "
                f"wrap={spec.wrap} ({'--wrapped' if spec.wrap else '--unwrapped'})."
            )
        return replace(spec, wrap=self.wraps)


class _Row(NamedTuple):
    module: str
    """The module of the format (`formats.interface`)."""
    word: str
    schema_type: str | None = None
    wraps: bool | None = None
    before_body: bytes = b""
    libraries: tuple[str, ...] = ()
    """The libraries that the format needs. The extra with the format's name installs them."""


_TABLE: Final = {
    Format.AVRO: _Row("avro", "Avro", "AVRO"),
    Format.JSON_SR: _Row("json_schema", "JSON_SR", "JSON"),
    Format.PROTOBUF: _Row(
        "protobuf.format",
        "Protobuf",
        "PROTOBUF",
        wraps=True,
        before_body=b"\0",
        libraries=("google.protobuf", "grpc_tools"),
    ),
    Format.JSON: _Row("json", "JSON"),
    Format.KAFKA: _Row("kafka", "KAFKA", wraps=False),
    Format.DELIMITED: _Row("delimited", "DELIMITED", wraps=True),
    Format.NONE: _Row("none", "NONE"),
    Format.PROTOBUF_NOSR: _Row("protobuf.nosr", "PROTOBUF_NOSR", wraps=True),
}
_BY_SCHEMA_TYPE: Final = {row.schema_type: format_ for format_, row in _TABLE.items() if row.schema_type is not None}
SCHEMA_FORMATS: Final = tuple(_BY_SCHEMA_TYPE.values())
RESOLVING: Final = Format.AVRO
"""The format whose readers may have their own schema, with aliases and defaults (`serde.specs.ReaderSchema`)."""


def module_of(format_: Format) -> FormatModule:
    return cast("FormatModule", import_module(f"{__package__}.{_TABLE[format_].module}"))


def schema_module_of(format_: Format) -> SchemaFormatModule:
    if format_ not in SCHEMA_FORMATS:
        raise UsageError(
            f"The format {format_.value} has no schemas. The formats with schemas: "
            f"{', '.join(schema_format.value for schema_format in SCHEMA_FORMATS)}."
        )
    return cast("SchemaFormatModule", module_of(format_))


def usable_delimiter(delimiter: str | None, format_: Format | None) -> str | None:
    """:raises UsageError: if there is a delimiter, but the format is not DELIMITED."""
    if delimiter is not None and format_ is not Format.DELIMITED:
        raise UsageError("Only the format DELIMITED has a delimiter. Leave the delimiter out, or choose this format.")
    return delimiter


def check_schema_type(schema_type: str, format_: Format) -> None:
    """:raises SchemaError: if a schema of that schemaType does not belong to the format."""
    if schema_type != format_.schema_type:
        raise SchemaError(
            f"The schema is of the type {schema_type}, not {format_.schema_type}. Use the serde for {schema_type}."
        )


@lru_cache(maxsize=16)
def _known(schema_type: str) -> Format | None:
    """The format of a schemaType; None if srfix has no serde for it, or the libraries are not installed."""
    format_ = _BY_SCHEMA_TYPE.get(schema_type)
    return format_ if format_ is not None and format_.is_installed else None


def _is_there(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except (ModuleNotFoundError, ValueError):
        return False  # the package that should contain it is missing, too


def format_of(schema_type: str) -> Format:
    format_ = _known(schema_type)
    if format_ is None and schema_type in _BY_SCHEMA_TYPE:
        raise SchemaError(
            f"The schema is of the type {schema_type}, but the libraries for it are not installed: pip install "
            f"'srfix[{_BY_SCHEMA_TYPE[schema_type].value}]'."
        )
    if format_ is None:
        raise SchemaError(
            f"The schema is of the type {schema_type}. srfix has no serde for this type, only for "
            f"{' and '.join(_BY_SCHEMA_TYPE)}."
        )
    return format_


def record_name(schema: Schema, references: tuple[str, ...] = ()) -> str | None:
    """`ParsedSchema.name`, for RecordNameStrategy; None if the schema has none, or srfix has no serde for the type."""
    format_ = _known(schema.schema_type)
    return None if format_ is None else schema_module_of(format_).record_name(schema.text, references)


def field_names(schema: Schema) -> tuple[str, ...]:
    """A record's field names; none if the text has no record, or srfix has no serde for the type."""
    format_ = _known(schema.schema_type)
    try:
        return () if format_ is None else schema_module_of(format_).field_names(schema.text)
    except SchemaError:
        return ()


def check_schema(schema: Schema) -> None:
    """Checks a schema's text. A type without a serde of srfix is not checked."""
    format_ = _known(schema.schema_type)
    if format_ is not None:
        schema_module_of(format_).check_schema(schema.text)


def as_readers_ask(schema: Schema) -> Schema:
    """The schema with the text of Java's readers (`ParsedSchema.canonicalString`); PROTOBUF stays unchanged."""
    text = _java_text(schema.schema_type, schema.text, bool(schema.references))
    return schema if text == schema.text else replace(schema, text=text)


@lru_cache(maxsize=1024)
def _java_text(schema_type: str, text: str, has_references: bool) -> str:
    format_ = _known(schema_type)
    try:
        return text if format_ is None else schema_module_of(format_).java_text(text, has_references=has_references)
    except (SchemaError, RecursionError):
        return text
