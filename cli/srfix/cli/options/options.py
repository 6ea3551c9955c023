"""The options that commands share: a flag wins over `SRFIX_…`, which wins over `--config`, which wins over the default."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from srfix.cli.options.values import Decorator, choice_of, file_option, handing_over, option, repeatable
from srfix.cli.output.interface import OutputFormat
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic
from srfix.serde.waiting import watch_with

_flag = partial(option, is_flag=True)

AUTO = "auto"
"""The value of `--isolation` if the user does not give it."""
READERS = ("connect", "ksqldb", "plain", "dual", "unknown")
"""The readers of a store, as `--reader` spells them."""
TOPIC_READERS = ("connect", "ksqldb", "plain", "latest", "dual", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    application: str | None
    """The application.id; None for all."""
    store: str | None
    sources: Mapping[str, Topic]
    """For each store the topic that it restores from, if the user named it."""
    reader: str
    """One of `READERS`; for `srfix plan`, one of `TOPIC_READERS`."""
    streams_version: str | None
    isolation: Isolation | None = None
    """How restores read; None to conclude it from the applications' transactional ids."""
    gone: tuple[str, ...] = ()
    """Applications that are gone for good, according to the user."""
    no_auto_register: bool = False
    """True if the application's serializers register no schemas."""
    ignore: tuple[str, ...] = ()
    """Patterns of subjects whose findings the user has acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurry:
    """The limits at which a census stops early. srfix never calls unread records healthy."""

    deadline_s: float | None = None
    """The limit in seconds for each topic; None for no limit."""
    max_records: int | None = None
    """The limit in records for each topic; None for no limit."""


def _selection(
    *, source: Iterable[str], ignore: Iterable[str], gone: Iterable[str], isolation: str, **values: Any
) -> Selection:
    patterns = tuple(pattern for pattern in ignore if pattern.strip())
    named = tuple(name for name in gone if name.strip())
    return Selection(sources=_sources(source), ignore=patterns, gone=named, isolation=isolation_of(isolation), **values)


def isolation_of(text: str) -> Isolation | None:
    """The isolation level of `--isolation`; None for `auto`."""
    return None if text == AUTO else Isolation(text)


_ISOLATIONS: Final = tuple(isolation.value for isolation in reversed(Isolation))

isolation_option = option(
    "--isolation",
    **choice_of((AUTO, *_ISOLATIONS), AUTO),
    help=(
        "How restores read: read_committed for exactly-once applications, read_uncommitted for other applications. "
        "Default: srfix concludes it from the applications' transactional ids."
    ),
)


def topic_isolation_option(help_: str) -> Decorator:
    return click.option(
        "--isolation",
        **choice_of(_ISOLATIONS, Isolation.READ_UNCOMMITTED),
        help=help_,
    )


def _selection_options(readers: Sequence[str], *, of_topics: str = "") -> Decorator:
    return handing_over(
        "selection",
        _selection,
        option("--application", metavar="ID", help="The application.id; default: all."),
        option("--store", metavar="NAME", help="The state store; default: all."),
        repeatable(
            "--source",
            envvar="SOURCES",
            metavar="[APPLICATION/]STORE=TOPIC",
            help=(
                "The topic that a store restores from; repeatable. Give APPLICATION if several applications have a "
                "store with this name."
            ),
        ),
        option(
            "--reader",
            **choice_of(readers, "unknown"),
            help=(
                "The reader of the store: Connect's converters (connect), ksqlDB (ksqldb; its version decides how "
                "it reads), plain Avro deserializers (plain), or a dual-subject reader (dual)."
            )
            + of_topics,
        ),
        option(
            "--streams-version",
            metavar="VERSION",
            help="The application's Kafka Streams version, such as 2.6.3.",
        ),
        _flag(
            "--no-auto-register",
            help=(
                "Say that the application's serializers register no schemas (auto.register.schemas=false). A put "
                "then fails if its schema is not registered (SRF015)."
            ),
        ),
        isolation_option,
        repeatable(
            "--gone",
            metavar="APPLICATION",
            help=(
                "An application that is gone for good; repeatable. Subjects that it left behind are then litter "
                "(SRF009)."
            ),
        ),
        repeatable(
            "--ignore",
            metavar="SUBJECT-PATTERN",
            help=(
                "Ignore subjects that match this pattern (such as shop-*-changelog-value): their findings, their repairs, "
                "and the checks of them that srfix could not do. One line counts and names what is ignored. Repeatable."
            ),
        ),
    )


selection_options = _selection_options(READERS)

plan_selection_options = _selection_options(
    TOPIC_READERS, of_topics=" With --topic also: a reader with use.latest.version (latest)."
)


def _hurry(*, deadline: float | None, max_records: int | None) -> Hurry:
    if deadline is not None and not math.isfinite(deadline):
        raise UsageError(f"--deadline takes a number of seconds, not {deadline}; leave it out for no limit.")
    return Hurry(deadline_s=deadline, max_records=max_records)


hurry_options = handing_over(
    "hurry",
    _hurry,
    option(
        "--deadline",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop reading a topic after this time. The report says what was not read, and does not call it healthy.",
    ),
    option(
        "--max-records",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop reading a topic after this many records. The report says what was not read.",
    ),
)

decode_values_option = _flag(
    "--decode-values",
    help=(
        "Decode every row that a restore loads (SRF013). This reads each topic a second time. Without this option "
        "srfix decodes only the newest row of each schema id and partition."
    ),
)

changelogs_option = _flag(
    "--changelogs",
    help=(
        "Read every changelog topic as a whole, and look for schema ids that the registry has lost (SRF014). "
        "Without this option srfix looks at the first and newest records of each partition, in at most 50 topics."
    ),
)

details_option = _flag(
    "--details",
    help="The whole report: the evidence, the numbers by partition, and what to do before and after a repair.",
)


def _tell_no_waits(_ctx: click.Context, _param: click.Parameter, is_quiet: bool) -> bool:
    if is_quiet:
        watch_with(nullcontext)
    return is_quiet


quiet_option = _flag(
    "--quiet",
    "-q",
    callback=_tell_no_waits,
    help=(
        "Print nothing if the exit code is 0: no report (except JSON and JUnit), no progress, no totals. Stale "
        "entries of a baseline are still reported. For cron."
    ),
)


def _output_option(forms: Iterable[OutputFormat], more: str = "") -> Decorator:
    return handing_over(
        "output",
        lambda output: OutputFormat(output),
        option(
            "--output",
            **choice_of([form.value for form in forms], OutputFormat.TABLE),
            help=f"The format of the report{more}.",
        ),
    )


output_option = _output_option(form for form in OutputFormat if form is not OutputFormat.JUNIT)
findings_output_option = _output_option(
    OutputFormat, "; junit is for CI, with a test for each finding and for each thing that was not looked at"
)

expect_digest_option = click.option(
    "--expect-digest",
    metavar="sha256:…",
    help=(
        "Refuse the plan unless it has this digest. srfix plan printed the digest to the person who reviewed the plan."
    ),
)

only_option = click.option(
    "--only",
    multiple=True,
    metavar="CODE|APPLICATION",
    help="Only the part of the plan that repairs this finding code or this application; repeatable.",
)


plan_file_option = partial(file_option, "-o", "--out", "path")


yes_option = _flag("--yes", help="Do not ask.")


def _sources(texts: Iterable[str]) -> dict[str, Topic]:
    sources: dict[str, Topic] = {}
    for text in texts:
        store, _, topic = text.rpartition("=")  # a topic's name has no '='; an application's may
        if not store or not topic:
            raise UsageError(f"--source takes STORE=TOPIC or APPLICATION/STORE=TOPIC, not {text!r}.")
        if sources.get(store, topic) != topic:
            raise UsageError(f"--source names two topics for the store {store!r}; a store restores from one topic.")
        sources[store] = Topic(topic)
    return sources
