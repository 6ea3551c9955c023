"""`srfix encode`: encodes rows, so that a user can try a rule from the shell. Registers nothing."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Final

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import half as halves
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.values import Choice
from srfix.cli.output.speaking import say_aside, show, show_json
from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.errors import DecodeError, EncodeError, UsageError
from srfix.serde.formats.table import Format, check_schema_type, module_of, schema_module_of, usable_delimiter
from srfix.serde.interface import Value
from srfix.serde.json_values import from_json
from srfix.serde.printable import is_printable
from srfix.serde.schemas.models import Json, Schema
from srfix.serde.wire import MAX_SCHEMA_ID, MIN_SCHEMA_ID, prefix_id_bytes

_TEXTS: Final = ("hex", "base64", "text")
_SHOWN_CHARACTERS: Final = 200
_SCHEMA_ID: Final = click.IntRange(MIN_SCHEMA_ID, MAX_SCHEMA_ID)


@command()
@click.argument("rows", metavar="[ROW…]", nargs=-1)
@halves.half_options
@halves.case_rule_option
@halves.times_option
@halves.delimiter_option
@click.option(
    "--schema",
    "given",
    metavar="TEXT|@FILE",
    help=(
        "Write under this schema. With columns, ksqlDB's rules for VALUE_SCHEMA_ID apply: exact names, and "
        "defaults for missing fields."
    ),
)
@click.option(
    "--schema-id",
    type=_SCHEMA_ID,
    help="Write under the registry's schema with this id, with the same rules as --schema.",
)
@halves.schema_options
@click.option("--frame", type=_SCHEMA_ID, metavar="ID", help="Put this schema id before the body.")
@click.option(
    "--window", type=click.IntRange(min=0), metavar="MS", help="For a key in a window: the start of the window."
)
@click.option(
    "--window-end", type=click.IntRange(min=0), metavar="MS", help="For a session window: its end, inclusive."
)
@click.option(
    "--as",
    "text_of",
    type=Choice(_TEXTS),
    help=(
        "How bytes are shown. Default: text for json and delimited, otherwise hex. A text that `srfix decode` would not "
        "read back has the prefix text: or hex:."
    ),
)
@connection_options
def encode(
    rows: tuple[str, ...],
    half: halves.RecordHalf,
    case_rule: CaseRule,
    times: Times,
    delimiter: str | None,
    given: str | None,
    schema_id: int | None,
    choice: halves.InternalSchemaChoice,
    frame: int | None,
    window: int | None,
    window_end: int | None,
    text_of: str | None,
    connection: Connection,
) -> ExitCode:
    """Encode ROWs, each a JSON document, and print the bytes, one row on each line. Without ROWs: read stdin, one row on
    each line.

    With --columns srfix reads a row as ksqlDB reads plain JSON (DATE in days, TIME and TIMESTAMP in milliseconds, BYTES in
    base64). It writes the row under the columns' internal schema, or under --schema. Values may be marked as `srfix decode`
    prints them: {"$decimal": "12.30"}, {"$timestamp": …}. If a row does not fit, or is not JSON, srfix names its number on
    stderr, and the exit code is 1. srfix registers nothing. --frame or --schema-id says which id is before the body.
    """
    from srfix.cli.options.typed_bytes import stdin_lines
    from srfix.serde.schemas.references import reference_texts
    from srfix.serde.specs import WriteSpec, given_representation
    from srfix.serde.windowed import Window, WindowKind, join

    if given is not None and schema_id is not None:
        raise UsageError("--schema and --schema-id exclude each other: give one of them.")
    if window_end is not None and window is None:
        raise UsageError("--window-end belongs to a session window; give its start too (--window).")
    under, references = None, tuple[str, ...]()
    if given is not None:
        under = Schema(text=halves.schema_text(given, half.format), schema_type=half.format.schema_type or "AVRO")
        references = halves.imported_texts(given)
    if schema_id is not None:
        with connection.registry_client() as registry:
            under = registry.schema_by_id(schema_id).schema
            check_schema_type(under.schema_type, half.format)
            references = reference_texts(registry, under)
    spec = WriteSpec(
        columns=half.columns,
        wrap=half.wrapped,
        case_rule=case_rule,
        times=times,
        nullable_representation=given_representation(
            choice.nullable_representation, is_protobuf=half.format in (Format.PROTOBUF, Format.PROTOBUF_NOSR)
        ),
        delimiter=usable_delimiter(delimiter, half.format),
    )
    if half.format.schema_type is None:
        if under is not None:
            raise UsageError(f"The format {half.format.value} has no schemas: leave out --schema and --schema-id.")
        write = module_of(half.format).encoder(None, spec)
    elif under is not None:
        schemas = schema_module_of(half.format)
        under_schema = schemas.encoder if half.columns is None else schemas.encoder_under
        write = under_schema(under.text, replace(spec, full_name=choice.message_name(half.format)), references)
    elif half.columns is None:
        raise UsageError(f"The format {half.format.value} needs --columns, --schema or --schema-id.")
    else:
        write = module_of(half.format).encoder(choice.text(half, half.columns), spec)
    prefix = b"" if frame is None and schema_id is None else prefix_id_bytes(frame or schema_id or 0)
    failed = False
    for number, row in enumerate(rows or stdin_lines(), 1):
        if not rows and not row.strip():
            continue
        try:
            value = _value(row, half, case_rule, times)
            payload = None if _is_null(value, half) else write(value, prefix)
        except (DecodeError, EncodeError) as error:
            say_aside(f"{'ROW' if rows else 'Line'} {number}: {error.message}")
            failed = True
            continue
        if payload is not None and window is not None:
            kind = WindowKind.TIME if window_end is None else WindowKind.SESSION
            payload = join(payload, Window(start_ms=window, end_ms=window_end), kind)
        # `show_json` escapes what is not printable in a document. Other bytes must be printable.
        is_document = half.format is Format.JSON and window is None and not prefix
        text = _shown(payload, text_of or ("text" if half.format.is_text else "hex"), half.format, is_document)
        (show_json if is_document else show)(text)
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _value(row: str, half: halves.RecordHalf, case_rule: CaseRule, times: Times) -> Value:
    from srfix.serde.specs import ReadSpec

    try:
        document: Json = json.loads(row)
    except ValueError as error:
        raise EncodeError(f"The row {_short(row)} is not JSON ({error}). Quote it for the shell.") from error
    except RecursionError:
        raise EncodeError(f"The row {_short(row)} nests too deep.") from None
    if half.columns is None or '"$' in row:
        return _typed(document, row)
    bare = not half.wrapped and not (isinstance(document, dict) and document.keys() == {half.columns[0].name})
    read = module_of(Format.JSON).decoder(
        None, ReadSpec(columns=half.columns, wrap=not bare, case_rule=case_rule, times=times)
    )
    return read(row.encode(), 0)


def _typed(document: Json, row: str) -> Value:
    try:
        return from_json(document)
    except ValueError as error:
        raise EncodeError(f"The row {_short(row)}: {error}") from error
    except RecursionError:
        raise EncodeError(f"The row {_short(row)} nests too deep.") from None


def _short(row: str) -> str:
    return repr(row if len(row) <= _SHOWN_CHARACTERS else f"{row[:_SHOWN_CHARACTERS]}…")


def _is_null(value: Value, half: halves.RecordHalf) -> bool:
    """A null row is a tombstone; so is a bare null, as in ksqlDB."""
    return value is None or (
        not half.wrapped and isinstance(value, dict) and not any(v is not None for v in value.values())
    )


def _shown(payload: bytes | None, text_of: str, format_: Format, is_document: bool) -> str:
    from srfix.cli.options.typed_bytes import readable_text

    if payload is None:
        return "null"
    if text_of == "base64":
        return base64.b64encode(payload).decode("ascii")
    if text_of == "text":
        text = readable_text(payload, format_)
        return text if is_document or is_printable(text) else f"hex:{payload.hex()}"
    return payload.hex()
