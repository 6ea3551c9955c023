"""The options about the reader of a topic: the subject that it asks, its kind, and its consumer group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from srfix.cli.options import values
from srfix.cli.options.options import TOPIC_READERS
from srfix.recovery.facts.topics import Strategy, TopicQuestion, TopicRead, TopicReader
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChoice:
    roles: tuple[Role, ...]
    subject: str | None
    group: str | None
    strategy: Strategy
    with_metadata: Mapping[str, str] = field(default_factory=dict)
    """`use.latest.with.metadata`."""
    typed: Sequence[str] = ()
    """The options of this group that stand on the command line."""

    def question(self, topic: str, reader: str, isolation: Isolation) -> TopicQuestion:
        """Reader and isolation have options of their own, because in `srfix plan` those are also for stores."""
        return TopicQuestion(
            topic=Topic(topic),
            roles=self.roles,
            subject=None if self.subject is None else Subject(self.subject),
            read=TopicRead(
                reader=TopicReader(reader),
                strategy=self.strategy,
                group=self.group,
                with_metadata=self.with_metadata,
                isolation=isolation,
            ),
        )


def _topic_choice(
    *, role: str, subject: str | None, group: str | None, strategy: Strategy, with_metadata: tuple[str, ...]
) -> TopicChoice:
    if subject == "" or group == "":
        raise UsageError("--subject and --group need a name, and one of the names is empty.")
    return TopicChoice(
        roles=values.ROLES[role],
        subject=subject,
        group=group,
        strategy=strategy,
        with_metadata=dict(
            values.parse_property(text, option="--with-metadata") for text in with_metadata if text.strip()
        ),
        typed=values.typed_options("--role", "--subject", "--group", "--strategy", "--with-metadata"),
    )


topic_options = values.handing_over(
    "asked",
    _topic_choice,
    click.option(
        "--role",
        **values.choice_of(values.ROLES, "both"),
        help=(
            "Which payloads: keys, values or both. With both, keys count only if a schema registry serializer "
            "wrote them."
        ),
    ),
    click.option(
        "--subject",
        metavar="SUBJECT",
        help=(
            "The subject that the reader asks, if it is not the topic's own: users-value for a mirrored "
            "source.users. For keys srfix asks the twin subject (users-key)."
        ),
    ),
    click.option(
        "--group",
        metavar="GROUP",
        help=(
            "The reader's consumer group (for a Connect sink: connect-NAME). srfix counts only records that the "
            "group has not read yet."
        ),
    ),
    click.option(
        "--strategy",
        **values.choice_of(Strategy, Strategy.TOPIC),
        help="The reader's subject name strategy.",
    ),
    click.option(
        "--with-metadata",
        type=values.Lines(),
        multiple=True,
        metavar="KEY=VALUE",
        help="With --reader latest: a value of use.latest.with.metadata; repeatable.",
    ),
)

topic_reader_option = values.option(
    "--reader",
    **values.choice_of(TOPIC_READERS, TopicReader.UNKNOWN),
    help=(
        "The reader of the topic: Connect's converters, as in sinks (connect), ksqlDB sources (ksqldb), plain Avro "
        "deserializers (plain), deserializers with use.latest.version (latest), or a dual-subject reader (dual)."
    ),
)
