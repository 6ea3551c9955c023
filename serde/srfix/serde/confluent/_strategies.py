"""Under which subject a schema is looked for, as `subject.name.strategy`, `.type` and `.conf` say it.

| what is given | subject |
|---|---|
| nothing | the topic's, `<topic>-key` or `<topic>-value`: confluent-kafka would ask the registry for associations first |
| a type: TOPIC, RECORD, TOPIC_RECORD | as there |
| the type ASSOCIATED, or its `AssociatedNameStrategy` | one that the registry associates with the topic, else the fallback's |
| one of its functions, or ours of the same name | likewise, without a call per record |
| a strategy of `srfix.serde.subjects` | as there |
| another callable | whatever it answers to `(context, record name)`; with four parameters also to client and `.conf` |

Our own, and confluent-kafka's, are asked once per topic, field and record name; another callable for every record.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Protocol, cast

from srfix.serde.confluent._registry import Registry
from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.interface import Context
from srfix.serde.subjects import (
    RecordSubject,
    Role,
    Subject,
    SubjectStrategy,
    TopicRecordSubject,
    TopicSubject,
    needs_record,
    role_of,
    subject_of,
)

__all__ = [
    "FALLBACK_TYPE",
    "KAFKA_CLUSTER_ID",
    "Strategy",
    "StrategyType",
    "record_subject_name_strategy",
    "strategy_of",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]

KAFKA_CLUSTER_ID: Final = "subject.name.strategy.kafka.cluster.id"
"""Key of `subject.name.strategy.conf`: the namespace that associations are looked up in."""
FALLBACK_TYPE: Final = "subject.name.strategy.fallback.type"
"""Key of `subject.name.strategy.conf`: the strategy where there is no association; TOPIC unless it is set."""
_ANY_CLUSTER: Final = "-"


class StrategyType(Enum):
    """The values of `subject.name.strategy.type`."""

    TOPIC = "TOPIC"
    RECORD = "RECORD"
    TOPIC_RECORD = "TOPIC_RECORD"
    ASSOCIATED = "ASSOCIATED"
    NONE = "NONE"


class Strategy(Protocol):
    """Context and record name → subject."""

    @property
    def is_stable(self) -> bool:
        """True if the same topic, field and record name always give the same subject."""

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        """The subject; None where the strategy has none, as without a record's name."""


def topic_subject_name_strategy(ctx: Context | None, record_name: str | None) -> str | None:
    """`<topic>-<field>`.

    :raises UsageError: if there is no context.
    """
    return _OfOurs(TopicSubject())(_required(ctx, "topic_subject_name_strategy"), record_name)


def topic_record_subject_name_strategy(ctx: Context | None, record_name: str | None) -> str | None:
    """`<topic>-<record name>`; None without a record name.

    :raises UsageError: if there is no context.
    """
    return _OfOurs(TopicRecordSubject())(_required(ctx, "topic_record_subject_name_strategy"), record_name)


def record_subject_name_strategy(ctx: Context | None, record_name: str | None) -> str | None:
    """The record name."""
    return _by_record(ctx, record_name)


def strategy_of(
    strategy: object,
    type_: object,
    conf: object,
    *,
    registry: Registry | None,
    client: object,
    cluster_id: Callable[[], str | None],
) -> Strategy:
    """What the three keys mean together; a callable wins over a type.

    :param client: as the user gave it; handed to the user's own callables of four parameters.
    :param cluster_id: the Kafka cluster's id, or None where it is not known; asked only for associations.
    :raises UsageError: if they mean nothing.
    """
    checked = _conf(conf)
    if strategy is None:
        return _of_type(_type(type_), checked, registry, cluster_id)
    if not callable(strategy):
        raise UsageError(
            f"subject.name.strategy is of the type {type(strategy).__name__}; it must be a callable (context, record "
            "name). A name such as TOPIC goes into subject.name.strategy.type."
        )
    named = strategy if inspect.isfunction(strategy) else type(strategy)
    module, name = getattr(named, "__module__", "") or "", getattr(named, "__name__", "")
    if module == __name__ or module.startswith("confluent_kafka.schema_registry"):
        if name in _FUNCTIONS:
            return _of_type(_FUNCTIONS[name], checked, registry, cluster_id)
        if name == "AssociatedNameStrategy":
            return _of_type(StrategyType.ASSOCIATED, checked, registry, cluster_id)
    if module.startswith("srfix.serde."):
        return _OfOurs(cast("SubjectStrategy", strategy))
    return _Own(strategy, (client, conf) if _takes_client(strategy) else ())


_FUNCTIONS: Final = {
    "topic_subject_name_strategy": StrategyType.TOPIC,
    "record_subject_name_strategy": StrategyType.RECORD,
    "topic_record_subject_name_strategy": StrategyType.TOPIC_RECORD,
}


def _of_type(
    type_: StrategyType,
    conf: Mapping[str, object],
    registry: Registry | None,
    cluster_id: Callable[[], str | None],
) -> Strategy:
    if type_ is StrategyType.ASSOCIATED:
        _check_keys(conf)
        fallback = _type(conf.get(FALLBACK_TYPE), key=FALLBACK_TYPE)
        if fallback is StrategyType.ASSOCIATED:
            raise UsageError(f"{FALLBACK_TYPE} is ASSOCIATED, which is what has failed then. {_one_of(_FALLBACKS)}")
        then = None if fallback is StrategyType.NONE else _of_type(fallback, {}, None, cluster_id)
        if registry is None:
            raise UsageError("Associations are kept by the registry: pass a schema_registry_client.")
        cluster = conf.get(KAFKA_CLUSTER_ID)
        return _Associated(registry, then, cluster_id if cluster is None else lambda: cast("str", cluster))
    if type_ is StrategyType.NONE:
        raise UsageError(f"subject.name.strategy.type is NONE, which is a fallback's only. {_one_of(_TYPES)}")
    if type_ is StrategyType.RECORD:
        return _by_record
    return _OfOurs(TopicSubject() if type_ is StrategyType.TOPIC else TopicRecordSubject())


_TYPES: Final = (StrategyType.TOPIC, StrategyType.RECORD, StrategyType.TOPIC_RECORD, StrategyType.ASSOCIATED)
_FALLBACKS: Final = (StrategyType.TOPIC, StrategyType.RECORD, StrategyType.TOPIC_RECORD, StrategyType.NONE)


def _one_of(types: tuple[StrategyType, ...]) -> str:
    return f"Use one of {', '.join(type_.value for type_ in types)}."


def _type(value: object, key: str = "subject.name.strategy.type") -> StrategyType:
    if value is None:
        return StrategyType.TOPIC
    text = value.value if isinstance(value, Enum) else value
    for type_ in StrategyType:
        if isinstance(text, str) and re.fullmatch(type_.value, text, re.IGNORECASE):
            return type_
    raise UsageError(f"{key} is {value!r}. {_one_of(_FALLBACKS if key == FALLBACK_TYPE else _TYPES)}")


def _conf(conf: object) -> Mapping[str, object]:
    if conf is None:
        return {}
    if not isinstance(conf, Mapping):
        raise UsageError(
            f"subject.name.strategy.conf is of the type {type(conf).__name__}; it must be a dict, or None."
        )
    return conf


def _check_keys(conf: Mapping[str, object]) -> None:
    for name in conf:
        if name not in (KAFKA_CLUSTER_ID, FALLBACK_TYPE):
            near = difflib.get_close_matches(str(name), (KAFKA_CLUSTER_ID, FALLBACK_TYPE), n=1)
            advice = f"Do you mean {near[0]!r}?" if near else f"Its keys are {KAFKA_CLUSTER_ID} and {FALLBACK_TYPE}."
            raise UsageError(f"subject.name.strategy.conf has no key {name!r}. {advice}")
    cluster = conf.get(KAFKA_CLUSTER_ID)
    if cluster is not None and not isinstance(cluster, str):
        raise UsageError(f"{KAFKA_CLUSTER_ID} is of the type {type(cluster).__name__}; it must be a text.")


def _takes_client(strategy: Callable[..., object]) -> bool:
    """Whether it has four parameters that must be given, or that are there to be given."""
    try:
        parameters = inspect.signature(strategy).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 4


def _required(ctx: Context | None, strategy: str) -> Context:
    if ctx is None:
        raise UsageError(
            f"{strategy} makes the subject of the topic, but there is no context. Call the serde with a "
            "SerializationContext, or use record_subject_name_strategy."
        )
    return ctx


class _OfOurs:
    """A strategy of `srfix.serde.subjects`."""

    is_stable = True

    def __init__(self, strategy: SubjectStrategy) -> None:
        self._strategy = strategy
        self._needs_record = needs_record(strategy)

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        ctx = _required(ctx, type(self._strategy).__name__)
        if self._needs_record and record_name is None:
            return None
        return subject_of(self._strategy, ctx.topic, role_of(ctx.field), lambda: record_name)


class _ByRecord:
    """RECORD: the one that needs no context."""

    is_stable = True

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        return None if record_name is None else RecordSubject()("", Role.VALUE, record_name)


_by_record: Final = _ByRecord()


class _Associated:
    """ASSOCIATED (`AssociatedNameStrategy`): asked once per topic and field; what fails is not remembered."""

    is_stable = True

    def __init__(self, registry: Registry, fallback: Strategy | None, cluster_id: Callable[[], str | None]) -> None:
        self._registry = registry
        self._fallback = fallback
        self._cluster_id = cluster_id
        self._found: dict[tuple[str, str], Subject | None] = {}

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        ctx = _required(ctx, "The type ASSOCIATED")
        key = (ctx.topic, ctx.field)
        if key not in self._found:
            self._found[key] = self._ask(ctx.topic, role_of(ctx.field))
        found = self._found[key]
        if found is not None:
            return found
        if self._fallback is None:
            raise ResolveError(
                f"The registry associates no subject with the {role_of(ctx.field).value} of topic {ctx.topic!r}, and "
                f"{FALLBACK_TYPE} is NONE. Create the association, or set a fallback."
            )
        return self._fallback(ctx, record_name)

    def _ask(self, topic: str, role: Role) -> Subject | None:
        subjects = self._registry.associated(topic, role, self._cluster_id() or _ANY_CLUSTER)
        if len(subjects) > 1:
            raise ResolveError(
                f"The registry associates several subjects with the {role.value} of topic {topic!r}: "
                f"{', '.join(subjects)}. Name the cluster ({KAFKA_CLUSTER_ID} in subject.name.strategy.conf), or remove "
                "all but one."
            )
        return subjects[0] if subjects else None


class _Own:
    """A callable of the user's."""

    is_stable = False

    def __init__(self, call: Callable[..., object], more: tuple[object, ...]) -> None:
        self._call = call
        self._more = more

    def __call__(self, ctx: Context | None, record_name: str | None) -> Subject | None:
        subject = self._call(ctx, record_name, *self._more)
        if subject is not None and not isinstance(subject, str):
            raise UsageError(
                f"subject.name.strategy answered {type(subject).__name__}; it must answer a subject (a text), or None."
            )
        return None if subject is None else Subject(subject)
