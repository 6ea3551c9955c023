"""The subject of a schema, according to `subject.name.strategy`, `.type` and `.conf`.

| setting | subject |
|---|---|
| nothing | the topic's subject, `<topic>-key` or `<topic>-value` (confluent-kafka first asks for associations) |
| a type: TOPIC, RECORD, TOPIC_RECORD | as in confluent-kafka |
| the type ASSOCIATED, or its `AssociatedNameStrategy` | the subject associated with the topic, otherwise the fallback's |
| one of confluent-kafka's functions, or srfix's function with the same name | the same, without a call per record |
| a strategy of `srfix.serde.subjects` | the strategy's subject |
| another callable | the callable's result for `(context, record name)`; with four parameters, also for client and `.conf` |

srfix calls its own and confluent-kafka's strategies once per topic, field and record name, and another callable for
every record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from srfix.serde.arguments import type_words
from srfix.serde.casing import is_same
from srfix.serde.confluent.config import SerdeSettings
from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.hints import nearest
from srfix.serde.interface import Context
from srfix.serde.registries.given import Registry
from srfix.serde.schemas.errors import EndpointNotSupportedError, RegistryAnswerError
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy, role_of
from srfix.serde.subjects.strategies import RecordSubject, TopicRecordSubject, TopicSubject, needs_record, subject_of

KAFKA_CLUSTER_ID: Final = "subject.name.strategy.kafka.cluster.id"
"""Key of `subject.name.strategy.conf`: the namespace in which associations are looked up."""
FALLBACK_TYPE: Final = "subject.name.strategy.fallback.type"
"""Key of `subject.name.strategy.conf`: the strategy if there is no association; the default is TOPIC."""
_ANY_CLUSTER: Final = "-"
_TYPES: Final = "Use one of TOPIC, RECORD, TOPIC_RECORD, ASSOCIATED."
_FALLBACKS: Final = "Use one of TOPIC, RECORD, TOPIC_RECORD, NONE."

Ask: TypeAlias = "Callable[[Context | None, str | None], Subject | None]"
"""Context and record name → subject; None if the strategy has no subject, for example without a record name."""


def topic_subject_name_strategy(ctx: Context | None, record_name: str | None) -> str | None:
    """`<topic>-<field>`.

    :raises UsageError: if there is no context.
    """
    return _asking(TopicSubject(), "topic_subject_name_strategy")(ctx, record_name)


def topic_record_subject_name_strategy(ctx: Context | None, record_name: str | None) -> str | None:
    """`<topic>-<record name>`; None without a record name.

    :raises UsageError: if there is no context.
    """
    return _asking(TopicRecordSubject(), "topic_record_subject_name_strategy")(ctx, record_name)


def record_subject_name_strategy(ctx: Context | None, record_name: str | None) -> Subject | None:
    """The record name; this strategy needs no context."""
    return None if record_name is None else RecordSubject()("", Role.VALUE, record_name)


def reference_subject_name_strategy(_: Context | None, reference: Any) -> str | None:
    """The reference's name, as the subject of a file that a Protobuf file imports."""
    return None if reference is None else cast("str", reference.name)


def strategy_of(
    settings: SerdeSettings, *, registry: Registry | None, client: object, cluster_id: Callable[[], str | None]
) -> tuple[Ask, bool]:
    """The strategy of the three keys (a callable wins over a type), and whether its results may be remembered."""
    strategy, conf = settings.strategy, settings.strategy_conf
    if conf is not None and not isinstance(conf, Mapping):
        raise UsageError(f"subject.name.strategy.conf is {type_words(conf)}; it must be a dict, or None.")
    if strategy is None:
        return _of_type(_type(settings.strategy_type), conf or {}, registry, cluster_id), True
    if not callable(strategy):
        raise UsageError(
            f"subject.name.strategy is {type_words(strategy)}; it must be a callable (context, record name). A name such as "
            "TOPIC goes into subject.name.strategy.type."
        )
    named = strategy if inspect.isfunction(strategy) else type(strategy)
    module, name = getattr(named, "__module__", "") or "", getattr(named, "__name__", "")
    if module == __name__ or module.startswith("confluent_kafka.schema_registry"):
        type_ = _TYPE_OF_NAME.get(name)
        if type_ is not None:
            return _of_type(type_, conf or {}, registry, cluster_id), True
    if module.startswith("srfix.serde."):
        return _asking(cast("SubjectStrategy", strategy)), True
    return _user_strategy(strategy, (client, conf) if _takes_client(strategy) else ()), False


_TYPE_OF_NAME: Final = {
    "topic_subject_name_strategy": "TOPIC",
    "record_subject_name_strategy": "RECORD",
    "topic_record_subject_name_strategy": "TOPIC_RECORD",
    "AssociatedNameStrategy": "ASSOCIATED",
}


def _of_type(
    type_: str, conf: Mapping[str, object], registry: Registry | None, cluster_id: Callable[[], str | None]
) -> Ask:
    match type_:
        case "TOPIC":
            return _asking(TopicSubject())
        case "RECORD":
            return record_subject_name_strategy
        case "TOPIC_RECORD":
            return _asking(TopicRecordSubject())
        case "NONE":
            raise UsageError(f"subject.name.strategy.type cannot be NONE; only a fallback can. {_TYPES}")
    _check_keys(conf)
    fallback = _type(conf.get(FALLBACK_TYPE), key=FALLBACK_TYPE)
    if fallback == "ASSOCIATED":
        raise UsageError(
            f"{FALLBACK_TYPE} cannot be ASSOCIATED: the fallback is used only after ASSOCIATED has failed. {_FALLBACKS}"
        )
    then = None if fallback == "NONE" else _of_type(fallback, {}, None, cluster_id)
    if registry is None:
        raise UsageError("The registry stores associations, so pass a schema_registry_client.")
    cluster = conf.get(KAFKA_CLUSTER_ID)
    return _Associated(registry, then, cluster_id if cluster is None else lambda: cast("str", cluster))


def _type(value: object, key: str = "subject.name.strategy.type") -> str:
    text = value.value if isinstance(value, Enum) else "TOPIC" if value is None else value
    for type_ in ("TOPIC", "RECORD", "TOPIC_RECORD", "ASSOCIATED", "NONE"):
        if isinstance(text, str) and is_same(type_, text):
            return type_
    raise UsageError(f"{key} is {value!r}. {_FALLBACKS if key == FALLBACK_TYPE else _TYPES}")


def _check_keys(conf: Mapping[str, object]) -> None:
    keys = (KAFKA_CLUSTER_ID, FALLBACK_TYPE)
    for name in conf:
        if name not in keys:
            near = nearest(str(name), keys)
            advice = f"Do you mean {near!r}?" if near else f"Its keys are {' and '.join(keys)}."
            raise UsageError(f"subject.name.strategy.conf has no key {name!r}. {advice}")
    cluster = conf.get(KAFKA_CLUSTER_ID)
    if cluster is not None and not isinstance(cluster, str):
        raise UsageError(f"{KAFKA_CLUSTER_ID} is {type_words(cluster)}; it must be a text.")


def _takes_client(strategy: Callable[..., object]) -> bool:
    """Whether the callable has four parameters without defaults, or accepts four arguments."""
    try:
        parameters = inspect.signature(strategy).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 4


def _required(ctx: Context | None, strategy: str) -> Context:
    if ctx is None:
        raise UsageError(
            f"{strategy} builds the subject from the topic, but there is no context. Call the serde with a "
            "SerializationContext, or use record_subject_name_strategy."
        )
    return ctx


def _asking(strategy: SubjectStrategy, name: str = "") -> Ask:
    """Adapts a strategy of `srfix.serde.subjects`, with its own name in errors."""

    def ask(ctx: Context | None, record_name: str | None) -> Subject | None:
        ctx = _required(ctx, name or type(strategy).__name__)
        if record_name is None and needs_record(strategy):
            return None
        topic: object = ctx.topic
        if topic is None:
            raise UsageError(
                "The subject is named after the topic, but the context has no topic. Pass a context with the "
                "topic's name."
            )
        return subject_of(strategy, ctx.topic, role_of(ctx.field), lambda: record_name)

    return ask


def _user_strategy(call: Callable[..., object], more: tuple[object, ...]) -> Ask:

    def ask(ctx: Context | None, record_name: str | None) -> Subject | None:
        subject = call(ctx, record_name, *more)
        if subject is not None and not isinstance(subject, str):
            raise UsageError(
                f"subject.name.strategy returned {type(subject).__name__}; it must return a subject (a text), or None."
            )
        return None if subject is None else Subject(subject)

    return ask


class _Associated:
    """`AssociatedNameStrategy`: asks the registry once per topic and field; a failure is not remembered."""

    def __init__(self, registry: Registry, fallback: Ask | None, cluster_id: Callable[[], str | None]) -> None:
        self._registry, self._fallback, self._cluster_id = registry, fallback, cluster_id
        self._subjects: dict[tuple[str, str], Subject | None] = {}

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        ctx = _required(ctx, "The type ASSOCIATED")
        key, role = (ctx.topic, ctx.field), role_of(ctx.field)
        if key not in self._subjects:
            self._subjects[key] = self._ask(ctx.topic, role)
        subject = self._subjects[key]
        if subject is not None:
            return subject
        if self._fallback is None:
            raise ResolveError(
                f"The registry associates no subject with the {role.value} of topic {ctx.topic!r}, and {FALLBACK_TYPE} is "
                "NONE. Create the association, or set a fallback."
            )
        return self._fallback(ctx, record_name)

    def _ask(self, topic: str, role: Role) -> Subject | None:
        subjects: tuple[Subject, ...] = ()
        try:
            subjects = self._registry.associated_subjects(topic, role, namespace=self._cluster_id() or _ANY_CLUSTER)
        except EndpointNotSupportedError:
            return None
        except RegistryAnswerError as error:
            if error.status != 404:
                raise
        if len(subjects) > 1:
            raise ResolveError(
                f"The registry associates several subjects with the {role.value} of topic {topic!r}: "
                f"{', '.join(subjects)}. Name the cluster ({KAFKA_CLUSTER_ID} in subject.name.strategy.conf), or remove "
                "all but one."
            )
        return subjects[0] if subjects else None
