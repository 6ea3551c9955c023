"""The options and the report that `srfix state rebuild` and `srfix state migrate` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from srfix.cli.command_classes import path_completion
from srfix.cli.options.values import BY_ID, DUAL_SUBJECT, ONE_SUBJECT, POLICIES, Choice, choice_of, handing_over, option
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import say_aside, write_report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.stores.choices import OnError
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Subject, subject_for

if TYPE_CHECKING:
    from srfix.recovery.stores.rebuild.change import Reserialiser
    from srfix.recovery.stores.rebuild.report import StateWritten
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.resolve.resolved import SecondAnswered
    from srfix.serde.schemas.models import Json


kind_option = click.option(
    "--kind",
    type=Choice([kind.value for kind in WrittenKind]),
    help=(
        "The kind of the store. timestamped-kv: a table of the DSL from Kafka Streams 2.3 on, or the subscription "
        "store of a foreign-key join. plain-kv: the shared store of an outer join. time-first-window and "
        "time-first-session: a store with EmitStrategy.onWindowClose; indexed-time-first-window: such a store with "
        "sliding windows."
    ),
)
release_option = option(
    "--streams-version",
    metavar="VERSION",
    required=True,
    help="The Kafka Streams version that will open the directory, such as 2.6.3.",
)
output_dir_option = click.option(
    "-o",
    "--out",
    "output_dir",
    required=True,
    metavar="DIR",
    help="The new state.dir. srfix creates the application's folder in it; the folder must not exist yet.",
    **path_completion("DIR"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesAnew:
    """The options for values that get another schema, and for stores and values that cannot be rewritten."""

    subject: str | None
    """Values get the schema of this subject. With None, the values stay as they are."""
    schema_version: int | None
    resolve: str
    read_subject: str | None
    second_subject: str | None
    take_open: bool
    on_error: str

    def check(self) -> None:
        options = {
            "--schema-version": self.schema_version,
            "--read-subject": self.read_subject,
            "--second-subject": self.second_subject,
            "--resolve": None if self.resolve == BY_ID else self.resolve,
        }
        for name, value in options.items():
            if self.subject is None and value is not None:
                raise UsageError(f"{name} needs --subject: name the subject under which to write the values.")
        if self.read_subject is not None and self.resolve == BY_ID:
            raise UsageError(f"--read-subject is only for --resolve {ONE_SUBJECT} and {DUAL_SUBJECT}.")
        if self.second_subject is not None and self.resolve != DUAL_SUBJECT:
            raise UsageError(f"--second-subject is only for --resolve {DUAL_SUBJECT}.")

    def reserialiser(
        self,
        registry: RegistryClient,
        *,
        application: str,
        store: str,
        source: str | None,
        on_second: Callable[[SecondAnswered], None] | None = None,
    ) -> Reserialiser:
        """The object that rewrites values. `source` is their topic, if srfix knows it."""
        from srfix.cli.options.decoding import PolicyChoice
        from srfix.recovery.stores.rebuild.change import Reserialiser
        from srfix.serde.resolve.policies import ById

        assert self.subject is not None
        second = None
        if self.resolve == DUAL_SUBJECT:
            second = self.second_subject or (None if source is None else subject_for(source, Role.VALUE))
            if second is None:
                raise UsageError(
                    f"--resolve {DUAL_SUBJECT} needs --second-subject, for example the subject of the source topic."
                )
        choice = PolicyChoice(
            policy=self.resolve,
            subject=self.read_subject,
            second_subject=second,
            application=application,
            store=store,
        )
        resolver: Resolver
        if self.resolve == BY_ID:
            resolver = ById(registry, context=registry.context_of(self.subject))
        else:
            resolver = choice.resolver(registry, (Role.VALUE,), on_second=on_second)
        return Reserialiser(registry, Subject(self.subject), version=self.schema_version or "latest", resolver=resolver)

    def as_json(self) -> dict[str, Json]:
        """The options as JSON, so that an interrupted run can be continued with the same options."""
        return asdict(self)


values_options = handing_over(
    "values",
    ValuesAnew,
    click.option(
        "--subject",
        metavar="SUBJECT",
        help=(
            "Write each value under the schema of this subject. Give the subject that the application's reader "
            "asks. Nothing is registered."
        ),
    ),
    click.option(
        "--schema-version",
        type=click.IntRange(min=1),
        help="With --subject: the subject's version. Default: the latest.",
    ),
    click.option(
        "--resolve",
        **choice_of(POLICIES, BY_ID),
        help=(
            "With --subject: how srfix looks up the schema of a value's own id: by the id alone (by-id), only if "
            "--read-subject holds the schema (one-subject), or with a fall-back to --second-subject (dual-subject)."
        ),
    ),
    click.option(
        "--read-subject",
        metavar="SUBJECT",
        help="The subject that must hold the value's own schema. Default: the store's changelog subject.",
    ),
    click.option(
        "--second-subject",
        metavar="SUBJECT",
        help="The subject to fall back to. Default: the subject of --from-topic, if given.",
    ),
    click.option(
        "--take-open",
        is_flag=True,
        help=(
            "Also copy stores of Kafka Streams 4.3 and later that a killed process left open. This is correct "
            "unless the application runs exactly-once."
        ),
    ),
    click.option(
        "--on-error",
        **choice_of([reaction.value for reaction in OnError], OnError.FAIL),
        help=(
            "What to do with a value that cannot be written again: stop and write no new directory (fail), or keep the "
            "bytes unchanged (keep-raw)."
        ),
    ),
)


def show_written(
    command: Literal["rebuild", "migrate"], target: Path, streams: str, report: Json, output: blocks.OutputFormat
) -> None:
    from msgspec import convert

    from srfix.recovery.stores.rebuild.report import StateWritten

    head = {"srfix": version("srfix"), "generated_at": now(), "command": command}
    places = {"directory": str(target), "streams_version": streams, "ranges": None}
    written = convert(head | places | cast("dict[str, Json]", report), StateWritten)
    whole = f"{target} is complete: {counted(len(written.stores), 'store')}"
    verdict = blocks.Verdict(text=whole, tone=blocks.Tone.GOOD)
    shown = tuple(_blocks(target, written))
    write_report(blocks.Report(document=written.to_json(), blocks=shown, verdict=verdict), output)
    say_aside(f"{whole}. Put it in the place of the application's folder in state.dir, then start the application.")


def _blocks(target: Path, written: StateWritten) -> Iterator[blocks.Block]:
    yield blocks.Heading(target.name)
    yield blocks.FieldList((("folder", str(target)), ("Kafka Streams", written.streams_version)))
    if written.stores:
        yield blocks.table_of(
            written.stores,
            {
                "task": lambda store: store.task,
                "store": lambda store: store.store,
                "rows": lambda store: f"{store.rows:,}",
                "rewritten": lambda store: f"{store.rewritten:,}",
                "kept raw": lambda store: f"{store.kept_raw:,}",
                "late": lambda store: f"{store.late:,}",
            },
        )
    if written.ranges:
        yield blocks.table_of(
            written.ranges,
            {
                "partition": lambda offset_range: offset_range.partition,
                "from offset": lambda offset_range: f"{offset_range.start_offset:,}",
                "up to (exclusive)": lambda offset_range: f"{offset_range.end_offset:,}",
            },
            title="Read",
        )
    words = [f"task {row.task}, store {row.store}, key {row.key}: {row.problem}" for row in written.unreadable]
    more = written.unreadable_rows - len(words)
    words += [f"and {more:,} more"] if more > 0 else []
    if words:
        yield blocks.Heading("Values kept as they were")
        yield blocks.ItemList(tuple(words))
    if written.notes:
        yield blocks.Heading("Notes")
        yield blocks.ItemList(tuple(written.notes))
