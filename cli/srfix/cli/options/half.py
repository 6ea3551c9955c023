"""The options by which `encode` and `schema` describe the key or the value of a record."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from srfix.cli.options.values import Choice, choice_of, handing_over
from srfix.serde import bounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.formats.table import Format, schema_module_of
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.serde.specs import NullableRepresentation


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHalf:
    format: Format
    role: Role
    columns: Columns | None
    """Its columns; None for all fields of the schema."""
    wrapped: bool
    """False if a single column is not wrapped in a record."""


def half_of(format_: Format, role: Role, columns: str | None, *, wrapped: bool | None) -> RecordHalf:
    """The half that the options describe; `wrapped` None means ksqlDB's rule."""
    from srfix.serde.column_sources.given import given_columns
    from srfix.serde.columns.half import half_of as half_of_columns

    if columns is None:
        # A key's schema is the type of its one column, whatever that type is (`DefaultSchemaInjector`).
        return RecordHalf(
            format=format_,
            role=role,
            columns=None,
            wrapped=next(word for word in (wrapped, format_.wraps, role is Role.VALUE) if word is not None),
        )
    if wrapped is None:
        wrapped = format_.wraps
    half = half_of_columns(given_columns(columns), role, wrapped)
    return RecordHalf(format=format_, role=role, columns=half.columns, wrapped=half.wrapped)


_NO_SCHEMAS: Final = tuple(format_ for format_ in Format if format_.schema_type is None)
_NAMED: Final = (Format.AVRO, Format.PROTOBUF)
"""The formats whose internal schemas have a full name."""
_IMPORT: Final = re.compile(r"""\bimport\s+(?:(?:public|weak)\s+)?["']([^"'\\\n]+\.proto)["']\s*;""")
"""Also matches in comments, where a name does no harm."""


def schema_text(argument: str, format_: Format) -> str:
    """The text of a schema of a format, which the user gave as text or as @FILE."""
    if argument.endswith(".proto") and format_ not in (*_NO_SCHEMAS, Format.PROTOBUF):
        raise UsageError(
            f"The schema file {argument.removeprefix('@')} holds a Protobuf schema, but the format is {format_.value}. Give "
            "--format protobuf, or a schema of that format."
        )
    if not argument.startswith("@"):
        if os.path.isfile(argument):
            raise UsageError(f"The schema {argument} is the name of a file. Write @ before it: --schema @{argument}.")
        return argument
    try:
        text = read_file(argument[1:], most_bytes=bounds.MOST_EVIDENCE_BYTES).decode("utf-8-sig")
        if not argument.endswith(".proto"):
            # The user may have named another file by mistake, so nothing of its content is shown.
            json.loads(text)
        return text
    except OSError as error:
        raise UsageError(
            f"The schema file {argument[1:]} cannot be read ({error.strerror}). Check the path."
        ) from error
    except UnicodeDecodeError:
        raise UsageError(f"The schema file {argument[1:]} is not UTF-8 text; save it as UTF-8.") from None
    except ValueError as error:
        raise UsageError(
            f"The schema file {argument[1:]} is not JSON ({error}). Name the file that holds the schema's text (a "
            "Protobuf file ends with .proto)."
        ) from None
    except RecursionError:
        return text  # the schema's parser will say so


def imported_texts(argument: str) -> tuple[str, ...]:
    """The files that @FILE.proto imports, directly or not: in the folder of FILE, or else in the nearest folder above it."""
    from srfix.serde.formats.protobuf.descriptors import KNOWN_IMPORTS
    from srfix.serde.schemas.references import ReferenceText

    if not (argument.startswith("@") and argument.endswith(".proto")):
        return ()
    folders = Path(argument[1:]).absolute().parents
    found: dict[str, str] = {}
    waiting = [schema_text(argument, Format.PROTOBUF)]
    while waiting:
        for name in _IMPORT.findall(waiting.pop()):
            is_usable = not name.startswith((*KNOWN_IMPORTS, "/")) and ".." not in name and name not in found
            path = next((folder / name for folder in folders if is_usable and (folder / name).is_file()), None)
            if path is not None:
                found[name] = schema_text(f"@{path}", Format.PROTOBUF)
                waiting.append(found[name])
    return tuple(ReferenceText(text, name=name) for name, text in found.items())


case_rule_option = click.option(
    "--case-rule",
    **choice_of(CaseRule, CaseRule.UNIQUE),
    help="How srfix compares names of fields and columns.",
)


times_option = click.option(
    "--times",
    **choice_of(get_args(Times), "datetimes"),
    help="The value of a DATE, TIME or TIMESTAMP: a datetime of the years 1 to 9999, or the integer in the record.",
)


delimiter_option = click.option(
    "--delimiter", metavar="CHARACTER", help="For delimited: a character, SPACE or TAB. Default: a comma."
)


nullable_option = click.option(
    "--nullable-representation",
    type=Choice(["optional", "wrapper"]),
    help="Protobuf under the columns' own schema: how a null differs from 0 and from an empty text, as in the WITH clause of "
    "ksqlDB.",
)


wrapped_option = click.option(
    "--wrapped/--unwrapped",
    default=None,
    help=(
        "Whether a single column is wrapped in a record. Default: as in ksqlDB, which wraps a value's column but "
        "not a key's."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalSchemaChoice:
    full_name: str | None
    source_name: str | None
    generation: Generation
    written_by: WrittenBy
    nullable_representation: NullableRepresentation | None = None

    def message_name(self, format_: Format) -> str | None:
        """For rows under a given schema: Protobuf's message. Refuses options that choose what the schema says."""
        if self.source_name is not None or self.nullable_representation is not None:
            raise UsageError(
                "--source-name and --nullable-representation are for the schema that srfix makes from columns. With "
                "--schema or --schema-id, leave these two options out."
            )
        if self.full_name is not None and format_ is not Format.PROTOBUF:
            raise UsageError(
                "With --schema or --schema-id, --full-name is for Protobuf, where it names the message. For other formats, "
                "leave --full-name out."
            )
        return self.full_name

    def text(self, half: RecordHalf, columns: Columns) -> str:
        from srfix.serde.formats.avro import key_full_name
        from srfix.serde.specs import WriteSpec, given_representation

        module = schema_module_of(half.format)
        full_name = self.full_name
        if self.full_name is not None or self.source_name is not None:
            if half.format not in _NAMED or (self.source_name is not None and half.format is not Format.AVRO):
                raise UsageError(
                    f"--full-name is for Avro and Protobuf, --source-name only for Avro, but the format is {half.format.value}."
                )
            if self.full_name is None and half.role is not Role.KEY:
                raise UsageError("--source-name names the record of a key: give --role key, too.")
            full_name = self.full_name or key_full_name(str(self.source_name))
        spec = WriteSpec(
            columns=columns,
            wrap=half.wrapped,
            generation=self.generation,
            written_by=self.written_by,
            full_name=full_name,
            nullable_representation=given_representation(
                self.nullable_representation, is_protobuf=half.format is Format.PROTOBUF
            ),
        )
        return module.internal_schema(spec, half.role)


def _schema_choice(*, generation: str, **values: Any) -> InternalSchemaChoice:
    if values["full_name"] == "":
        raise UsageError("--full-name is empty. Give a name, or leave the option out.")
    words = {known.value: known for known in Generation}
    return InternalSchemaChoice(generation=words.get(generation) or Generation.of(generation), **values)


schema_options = handing_over(
    "choice",
    _schema_choice,
    click.option(
        "--full-name",
        metavar="NAME",
        help="The record's name with its namespace. Default: ksqlDB's name. With a given Protobuf schema: the message to "
        "write. With --from-subject: the message whose columns srfix reads. Default for both: the first message.",
    ),
    click.option(
        "--source-name",
        metavar="NAME",
        help="For a key: the name of the stream or table. ksqlDB's CREATE puts this name into the name of the key's record.",
    ),
    click.option(
        "--generation",
        default=Generation.UP_TO_0_28.value,
        show_default=True,
        metavar="|".join(generation.value for generation in Generation),
        help="The ksqlDB that wrote the schema; a version such as 0.23.1 or 7.4.0 is enough.",
    ),
    click.option(
        "--written-by",
        **choice_of(WrittenBy, WrittenBy.SERIALIZER),
        help="Who registered the schema: CREATE, or the serializer of a running query.",
    ),
    nullable_option,
)


def _half(
    *, format_: Format, role: Role, columns: str | None, wrapped: bool | None, columns_argument: str | None = None
) -> RecordHalf:
    if columns and columns_argument:
        raise UsageError("Give the columns once: as the argument, or with --columns.")
    return half_of(format_, role, columns or columns_argument, wrapped=wrapped)


half_options = handing_over(
    "half",
    _half,
    click.option("--format", "format_", **choice_of(Format, Format.AVRO), help="The format of the bytes."),
    click.option("--role", **choice_of(Role, Role.VALUE), help="Whether the bytes are a key or a value."),
    click.option("--columns", metavar='"NAME TYPE, …"', help="The columns, as ksqlDB declares or prints them."),
    wrapped_option,
    besides="columns_argument",
)
"""An argument named `columns_argument` replaces `--columns`."""
