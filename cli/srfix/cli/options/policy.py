"""The resolve policy that the options choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from srfix.cli.output.speaking import say
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, SubjectStrategy, split_context, split_subject, subject_for

if TYPE_CHECKING:
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.resolve.resolved import SecondAnswered


BY_ID: Final = "by-id"
"""Like plain deserializers."""
ONE_SUBJECT: Final = "one-subject"
"""Like Connect's converters and ksqlDB."""
DUAL_SUBJECT: Final = "dual-subject"
"""With a fall-back."""
POLICIES: Final = (BY_ID, ONE_SUBJECT, DUAL_SUBJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    policy: str | None
    """One of the three policies; None to choose by the subjects that were named."""
    subject: str | None
    second_subject: str | None
    application: str | None
    """With `store`: the application of the store whose changelog subject is asked."""
    store: str | None

    def resolver(
        self,
        registry: RegistryClient,
        roles: tuple[Role, ...],
        *,
        on_second: Callable[[SecondAnswered], None] | None = None,
    ) -> Resolver:
        """`on_second` is called when a second subject answered; None prints a line on standard error."""
        from srfix.serde.resolve.policies import ById, DualSubject, UnderOneSubject
        from srfix.serde.subjects.strategies import TopicSubject

        first = self._first(roles)
        second = None if self.second_subject is None else _named(self.second_subject, roles, option="--second-subject")
        policy = self.policy
        if policy is None:
            policy = DUAL_SUBJECT if second is not None else BY_ID if first is None else ONE_SUBJECT
        if second is not None and policy != DUAL_SUBJECT:
            raise UsageError(f"--second-subject is only for --resolve {DUAL_SUBJECT}.")
        if policy == BY_ID:
            named = DEFAULT_CONTEXT if self.subject is None else split_context(self.subject)[0]
            return ById(registry, context=named)
        if policy == ONE_SUBJECT:
            return UnderOneSubject(registry, first or TopicSubject())
        if first is None:
            raise UsageError(
                f"--resolve {DUAL_SUBJECT} needs the first subject: --subject, or --application and --store."
            )
        return DualSubject(
            registry,
            first=first,
            second=second or TopicSubject(),
            on_second=on_second or (lambda answered: say(answered.note, err=True)),
        )

    def _first(self, roles: tuple[Role, ...]) -> SubjectStrategy | None:
        """The subject that the user named, or the subject of the named store; None if the user named neither."""
        from srfix.serde.subjects.strategies import ChangelogSubject

        if self.subject is not None:
            return _named(self.subject, roles, option="--subject")
        if self.store is None:
            return None
        if self.application is None:
            raise UsageError("--store needs --application, because the changelog subject is named after both.")
        return ChangelogSubject(application=self.application, store=self.store)


def _named(subject: str, roles: tuple[Role, ...], *, option: str) -> SubjectStrategy:
    from srfix.serde.subjects.strategies import FixedSubject

    split = split_subject(subject)
    if len(roles) == 1:
        return FixedSubject(**{roles[0].value: subject})
    if split is None:
        raise UsageError(
            f"{option} {subject} does not end in -key or -value, so it cannot be used for both keys and values: "
            "give --role key or --role value."
        )
    return FixedSubject(key=subject_for(split[0], Role.KEY), value=subject_for(split[0], Role.VALUE))
