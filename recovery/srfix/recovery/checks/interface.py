"""A check: one finding code with its explanation and its search, and where possible with prediction, repair and advice.
`srfix explain` loads neither a Kafka nor an HTTP client, so these modules import such types for type checkers only; a
function that needs more imports it when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from srfix.recovery.checks.topic_findings import TopicFinding, TopicRequest
    from srfix.recovery.commands import CommandLine
    from srfix.recovery.facts.applications import ApplicationFacts, ChangelogFacts
    from srfix.recovery.facts.reader import CheckContext, Circumstances
    from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts
    from srfix.recovery.facts.survey import Survey
    from srfix.recovery.facts.topics import TopicFacts
    from srfix.recovery.findings import Finding
    from srfix.recovery.forecasts import Foretold
    from srfix.recovery.guard.judged import Prospect
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId


class Width(Enum):
    ONLY_LIVE = "only-live"
    WIDE = "wide"
    """Every id still in the log of the source topic, and every undeleted version of the source subject."""
    ALL_VERSIONS = "all-versions"
    """Every version of the source subject, also soft-deleted ones; no census, because the log does not matter."""


class Owner(Enum):
    """The owner of the subject that a repair writes to: the party that registers the next schema there."""

    APPLICATION = "application"
    """The application owns it: it is a phantom subject."""
    PRODUCERS = "producers"
    """The source topic's producers own it, or others who write under a subject that a topic's readers ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    code: str
    owner: Owner
    facts: StoreFacts | TopicFacts
    """The store, or the topic whose readers ask the subject."""
    role: RoleFacts
    """The subject that lacks the ids, and its state: the phantom subject, or the source's own."""
    at_fault: tuple[SchemaId, ...]
    """The ids that a reader fails on; empty without a census, or if nothing fails yet."""
    missing: tuple[Membership, ...]
    known_under: Subject
    """The other one of the store's two subjects, or in a topic's repair a further subject, which should hold the ids."""
    mirrors: tuple[Subject, ...] = ()
    """Copies of the subject in other contexts that lack the ids too, and that the repair leaves alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A repair that is not needed, and that nobody asked for."""

    code: str
    subject: Subject
    why: str
    """Why it is not planned, and which command plans it, in a sentence."""


Wanted: TypeAlias = Iterator[Want | PassedOver]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    stores: tuple[StoreFacts, ...]
    survey: Survey
    width: Width
    also: frozenset[str]
    """The codes whose repair the person asked for, although it is not needed."""
    command_line: CommandLine

    def facts_of(self, finding: Finding) -> StoreFacts | None:
        """The store of a finding about a phantom subject; None if the finding is acknowledged."""
        store = finding.application, finding.store
        for facts in reversed(self.stores):
            subjects = {role.subject for role in facts.roles.values()}
            if (facts.store.application, facts.store.name) == store and finding.subject in subjects:
                return facts
        return None

    def plan_with(self, application: str, store: str, code: str) -> str:
        options = ("--application", application, "--store", store)
        return self.command_line.quoted("plan", *options, "--also", code, "-o", "plan.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    wants: Callable[[Finding, RepairRequest], Wanted]
    without_census: Callable[[StoreFacts, RoleFacts, CheckContext, RepairRequest], Wanted] | None = None
    """What a store's keys or values lack if there is no finding for want of a census; None if they lack nothing."""
    also: str | None = None
    """A clause that says what `--also` with this code asks for; None if `--also` cannot have this code."""
    only_on_request: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRequest:
    circumstances: Circumstances
    findings: tuple[Finding, ...]
    rules: Rules
    command_line: CommandLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an application's findings forbid, as parts of sentences; each from the first check that has it."""

    wiping: str | None = None
    """Why wiping the state does not help."""
    upgrade: str | None = None
    """Why not to upgrade to Kafka Streams 2.7 or later yet."""
    of_notes: bool = True
    """False if a finding that is a note forbids nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    serious: Callable[[AdviceRequest], Iterator[str]] | None = None
    """Advice for findings that are not just notes; None if only the findings themselves say what helps."""
    is_whole: bool = False
    """True if `serious` says all there is to do, whatever else was found."""
    note: Callable[[Circumstances], str] | None = None
    """The advice if nothing is broken; None for no advice."""
    recurs: bool = False
    """True if the advice also says how to prevent the next such finding."""
    rules: Rules | None = None
    do_not: Callable[[Circumstances], Iterator[str]] | None = None
    """What must not be done before the repair, each as words behind "do not"; None if nothing is forbidden."""


def keep_the_state(_known: Circumstances) -> Iterator[str]:
    """What must not be done if a restore would load wrong records, or fewer records."""
    yield "wipe a state directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding code, with what srfix does about it. In a text each line is a paragraph, or an item of a list if it
    begins with `- `."""

    code: str
    """`SRF` and three digits."""
    title: str
    severity: str
    """How bad it usually is: a value of `srfix.recovery.findings.Severity`."""
    meaning: str
    cause: str
    detection: str
    remedy: str
    checked_since: str = "0.1.0"
    """The first version of srfix that looks for it; a check that is not in the first release names its own."""
    find: Callable[[StoreFacts, CheckContext], Iterator[Finding]] = lambda _facts, _context: iter(())
    """From what was learned of a store to findings, at most one per role."""
    without_source: Callable[[Finding, str], Finding] | None = None
    """The finding for a store of undecided source, with the question which it is; None if it says nothing of it."""
    repair: Repair | None = None
    """What a plan does about it; None if no registration helps."""
    advice: Advice = Advice()
    find_of_application: Callable[[ApplicationFacts, CheckContext], Iterator[Finding]] | None = None
    """From an application's internal subjects without topics to findings; None for a check of stores."""
    find_of_changelog: Callable[[ChangelogFacts, CheckContext], Iterator[Finding]] | None = None
    """From a changelog whose ids the registry has lost, or its own subject lacks, to findings, at most one per role; None
    for other checks.
    """
    find_of_topic: Callable[[TopicRequest], Iterator[TopicFinding]] | None = None
    """From what was learned of a topic's keys or values, without a store, to findings; None for other checks."""
    foretell: Callable[[Prospect], Iterator[Foretold]] | None = None
    """The effects of a restore, an upgrade or a new schema on a store; None if there is no prediction under this code."""
    data: str | None = None
    """What the finding says of the rows themselves, in a clause; None if it is not about rows."""
    is_of_repair: bool = False
    """True if it is a note on the repair of another finding, and is shown with that finding."""
    partial: str = "At least this many: the topic was not read to its end"
