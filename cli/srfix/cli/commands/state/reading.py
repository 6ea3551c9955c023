"""How the commands of `srfix state` read keys and values: as bytes, or through a serde and a resolve policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from srfix.cli.options.connecting import Connection
from srfix.cli.options.engine import SPARK, CensusEngineChoice
from srfix.cli.options.values import DUAL_SUBJECT, ONE_SUBJECT, POLICIES, Choice, handing_over
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.cli.options.decoding import DecodeOptions
    from srfix.recovery.facts.decoding import RecordDecoder
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.resolve.resolved import SecondAnswered


BY_SCHEMA: Final = "schema"
_FORMATS: Final = (BY_SCHEMA, *(format_.value for format_ in Format))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReading:
    key_format: str | None
    value_format: str | None
    key_columns: str | None
    value_columns: str | None
    key_delimiter: str | None
    value_delimiter: str | None
    policy: str | None
    subject: str | None
    second_subject: str | None

    @contextmanager
    def decoder(
        self,
        connection: Connection,
        *,
        application: str,
        store: str,
        on_second: Callable[[SecondAnswered], None] | None = None,
    ) -> Iterator[RecordDecoder]:
        """The decoder for keys and values with a format; other keys and values stay bytes."""
        from srfix.cli.options.decoding import NoRegistry, PolicyChoice

        halves = {
            role: _options(role, form, columns, delimiter)
            for role, form, columns, delimiter in (
                (Role.KEY, self.key_format, self.key_columns, self.key_delimiter),
                (Role.VALUE, self.value_format, self.value_columns, self.value_delimiter),
            )
            if form is not None or columns is not None or delimiter is not None
        }
        if self.policy == DUAL_SUBJECT and self.second_subject is None:
            raise UsageError(
                "--resolve dual-subject needs --second-subject, for example the subject of the source topic."
            )
        asks_store = self.policy in (ONE_SUBJECT, DUAL_SUBJECT) and self.subject is None
        policy = PolicyChoice(
            policy=self.policy,
            subject=self.subject,
            second_subject=self.second_subject,
            application=application if asks_store else None,
            store=store if asks_store else None,
        )
        if not any(half.asks_a_registry for half in halves.values()):
            yield _made(NoRegistry(), halves)
            return
        with connection.registry_client() as registry:
            yield _made(policy.resolver(registry, tuple(halves), on_second=on_second), halves)


def _options(role: Role, form: str | None, columns: str | None, delimiter: str | None) -> DecodeOptions:
    from srfix.cli.options.decoding import DecodeOptions
    from srfix.serde.column_sources.given import given_columns

    if form not in (None, BY_SCHEMA) and Format(form).needs_columns and columns is None:
        raise UsageError(f'The format {form} needs its columns, for example --{role.value}-columns "ID BIGINT".')
    try:
        given = None if columns is None else given_columns(columns)
    except ColumnError as error:
        raise ColumnError(f'"--{role.value}-columns" cannot be read: {error.message}') from None
    return DecodeOptions(
        roles=(role,),
        format=None if form in (None, BY_SCHEMA) else Format(form),
        columns=given,
        delimiter=delimiter,
    )


def _made(resolver: Resolver, halves: dict[Role, DecodeOptions]) -> RecordDecoder:
    from srfix.recovery.facts.decoding import RecordDecoder

    return RecordDecoder(
        resolver, roles=tuple(halves), make=lambda asking, role: halves[role].deserializer(asking, role)
    )


reading_options = handing_over(
    "reading",
    RowReading,
    click.option(
        "--key-format",
        type=Choice(_FORMATS),
        help=(
            "How to decode keys: with the schema of the id in the key (schema), or in this format. Default: bytes, "
            "not decoded."
        ),
    ),
    click.option(
        "--value-format",
        type=Choice(_FORMATS),
        help=(
            "How to decode values: with the schema of the id in the value (schema), or in this format. Default: bytes, "
            "not decoded."
        ),
    ),
    click.option("--key-columns", metavar='"NAME TYPE, …"', help="Read keys into these columns."),
    click.option("--value-columns", metavar='"NAME TYPE, …"', help="Read values into these columns."),
    click.option("--key-delimiter", metavar="CHARACTER", help="For delimited keys: a character, SPACE or TAB."),
    click.option("--value-delimiter", metavar="CHARACTER", help="For delimited values: a character, SPACE or TAB."),
    click.option(
        "--resolve",
        "policy",
        type=Choice(POLICIES),
        help=(
            "How srfix looks up a schema id: like plain deserializers (by-id, the default), like Connect's converters and "
            "ksqlDB (one-subject), or with a fall-back (dual-subject)."
        ),
    ),
    click.option("--subject", help="The subject to ask first; default: the store's changelog subject."),
    click.option("--second-subject", help="The subject to fall back to."),
)

retention_option = click.option(
    "--retention-ms",
    type=click.IntRange(min=1),
    help=(
        "Mark the rows of windows and sessions that are older than this. Kafka Streams 3.5 and later hides such "
        "rows. Give the changelog's retention.ms minus windowstore.changelog.additional.retention.ms (a day)."
    ),
)


def refuse_retention_on_spark(retention_ms: int | None, engine: CensusEngineChoice) -> None:
    if retention_ms is not None and engine.engine == SPARK:
        raise UsageError(
            "--retention-ms looks for the newest window, and --engine spark cannot do this: give only one of them."
        )
