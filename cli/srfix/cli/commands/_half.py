"""One half of a record, as options describe it to `encode` and `schema`.

@half_options                 # hands over `half: Half`
def encode(half, …): …
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from srfix.serde import bounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns import Columns, given_columns
from srfix.serde.columns import half_of as half_of_columns
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.formats.avro import key_full_name
from srfix.serde.formats.table import Format, schema_module_of
from srfix.serde.generations import Generation, WrittenBy
from srfix.serde.subjects import Role

__all__ = ["Half", "SchemaChoice", "case_rule_option", "half_of", "half_options", "schema_options", "schema_text"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """What is encoded, or decoded."""

    format: Format
    """Its format."""
    role: Role
    """Key or value."""
    columns: Columns | None
    """Its columns; None for whatever the schema says."""
    wrapped: bool
    """False for a single column that stands without a record around it."""


def half_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options that say what half of a record it is; the command gets `half: Half`.

    An argument named `columns_argument` stands for `--columns`.
    """

    @functools.wraps(command)
    def call(**values: Any) -> R:
        role = Role(values.pop("role"))
        given = (values.pop("columns"), values.pop("columns_argument", None))
        if all(given):
            raise UsageError("Give the columns once: as the argument, or with --columns.")
        half = half_of(Format(values.pop("format_")), role, given[0] or given[1], wrapped=values.pop("wrapped"))
        return command(half=half, **values)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def half_of(format_: Format, role: Role, columns: str | None, *, wrapped: bool | None) -> Half:
    """The half that options describe; `wrapped` None means as ksqlDB does.

    :raises ColumnError: if the columns cannot be read, or cannot be those of this half.
    """
    if columns is None:
        # A key's schema is the type of one column, whatever it is (`DefaultSchemaInjector`).
        return Half(format=format_, role=role, columns=None, wrapped=role is Role.VALUE if wrapped is None else wrapped)
    if wrapped is None and format_ is Format.KAFKA:
        wrapped = False
    half = half_of_columns(given_columns(columns), role, wrapped)
    return Half(format=format_, role=role, columns=half.columns, wrapped=half.wrapped)


def schema_text(given: str) -> str:
    """The text of a schema that was given as such, or as @FILE.

    :raises UsageError: if the file cannot be read.
    """
    if not given.startswith("@"):
        return given
    try:
        return read_file(given[1:], most_bytes=bounds.MOST_EVIDENCE_BYTES).decode("utf-8")
    except OSError as error:
        raise UsageError(f"The schema file {given[1:]} cannot be read ({error.strerror}). Check the path.") from error
    except UnicodeDecodeError:
        raise UsageError(f"The schema file {given[1:]} is not UTF-8 text; save it as UTF-8.") from None


def case_rule_option(command: Callable[..., R]) -> Callable[..., R]:
    """Adds `--case-rule`; the command gets `case_rule: CaseRule`."""

    @functools.wraps(command)
    def call(**values: Any) -> R:
        return command(case_rule=CaseRule(values.pop("case_rule")), **values)

    return click.option(
        "--case-rule",
        type=click.Choice([rule.value for rule in CaseRule]),
        default=CaseRule.UNIQUE.value,
        show_default=True,
        help="How names of fields and columns are compared.",
    )(call)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChoice:
    """Which of the engine's schemas of some columns is meant."""

    full_name: str | None
    """The record's name with its namespace; None for ksqlDB's."""
    source_name: str | None
    """The stream or table whose key it is, which names the key's record."""
    generation: Generation
    """Which ksqlDB."""
    written_by: WrittenBy
    """CREATE, or the serializer."""

    def text(self, half: Half, columns: Columns) -> str:
        """The internal schema of columns.

        :raises UsageError: if the format has none, or no full names.
        """
        module = schema_module_of(half.format)
        more: dict[str, Any] = {}
        if self.full_name is not None or self.source_name is not None:
            if half.format is not Format.AVRO:
                raise UsageError(f"An Avro record has a full name; a schema of {half.format.value} has none.")
            if self.full_name is None and half.role is not Role.KEY:
                raise UsageError("--source-name names the record of a key: give --role key too.")
            more["full_name"] = self.full_name or key_full_name(str(self.source_name))
        return module.internal_schema(
            columns,
            role=half.role,
            wrapped=half.wrapped,
            generation=self.generation,
            written_by=self.written_by,
            **more,
        )


def schema_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options that say which engine's schema is meant; the command gets `choice: SchemaChoice`."""

    @functools.wraps(command)
    def call(**values: Any) -> R:
        choice = SchemaChoice(
            full_name=values.pop("full_name"),
            source_name=values.pop("source_name"),
            generation=_generation(values.pop("generation")),
            written_by=WrittenBy(values.pop("written_by")),
        )
        return command(choice=choice, **values)

    for option in reversed(_SCHEMA_OPTIONS):
        call = option(call)
    return call


def _generation(word: str) -> Generation:
    words = {known.value: known for known in Generation}
    return words[word] if word in words else Generation.of(word)


_SCHEMA_OPTIONS: Final = (
    click.option("--full-name", metavar="NAME", help="The record's name with its namespace. Default: ksqlDB's."),
    click.option(
        "--source-name", metavar="NAME", help="Of a key: the stream or table, after which CREATE names its record."
    ),
    click.option(
        "--generation",
        default=Generation.UP_TO_0_28.value,
        show_default=True,
        metavar="|".join(known.value for known in Generation),
        help="Which ksqlDB wrote it; a version such as 0.23.1 or 7.4.0 will do.",
    ),
    click.option(
        "--written-by",
        type=click.Choice([known.value for known in WrittenBy]),
        default=WrittenBy.SERIALIZER.value,
        show_default=True,
        help="Whether CREATE registered it, or the serializer of a running query.",
    ),
)
_OPTIONS: Final = (
    click.option(
        "--format",
        "format_",
        type=click.Choice([known.value for known in Format]),
        default=Format.AVRO.value,
        show_default=True,
        help="The format of the bytes.",
    ),
    click.option(
        "--role",
        type=click.Choice([role.value for role in Role]),
        default=Role.VALUE.value,
        show_default=True,
        help="Which half of a record it is.",
    ),
    click.option("--columns", metavar='"NAME TYPE, …"', help="Its columns, as ksqlDB declares them."),
    click.option(
        "--wrapped/--unwrapped",
        default=None,
        help="Whether a single column stands in a record of its own. Default: as ksqlDB does, keys do not.",
    ),
)
