"""SRF001, the incident (KAFKA-10179): ids that a restore puts in the store are not under the phantom subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf012
from srfix.recovery.checks.interface import (
    Advice,
    AdviceRequest,
    Check,
    Owner,
    PassedOver,
    Repair,
    RepairRequest,
    Want,
    Wanted,
    Width,
)
from srfix.recovery.checks.missing import findings_of, is_of_global_store
from srfix.recovery.commands import shell_words
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.ids_in_words import named_ids
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext, Circumstances
    from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts
    from srfix.recovery.guard.judged import JudgedStore, Prospect
    from srfix.recovery.guard.looking import SubjectPair
    from srfix.recovery.guard.models import NewSchema
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF001"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with missing ids; none for a global store (SRF006)."""
    if not is_of_global_store(facts, context):
        yield from findings_of(CODE, facts, context)


def want_of_phantom(
    facts: StoreFacts, role: RoleFacts, request: RepairRequest, finding: Finding | None = None, *, code: str = CODE
) -> Want:
    """What the phantom subject of a store lacks, planned under a code; no finding if nothing fails, or is counted."""
    own = facts.source_of(role.role)
    ids = () if finding is None else tuple(fault.schema_id for fault in finding.schema_ids)
    return Want(
        code=code,
        owner=Owner.APPLICATION,
        facts=facts,
        role=role,
        at_fault=ids,
        missing=tuple(_missing(facts, role, ids, request)),
        known_under=role.subject if own is None else own.subject,
        mirrors=() if finding is None else finding.mirrors,
    )


def _missing(
    facts: StoreFacts, role: RoleFacts, at_fault: Sequence[SchemaId], request: RepairRequest
) -> Iterator[Membership]:
    if request.width is Width.ONLY_LIVE:
        yield from (role.membership(schema_id) for schema_id in at_fault)
        return
    ids, own = {*role.memberships, *role.row_memberships}, facts.source_of(role.role)
    if own is not None:
        ids |= request.survey.ids_under(own.subject, deleted=request.width is Width.ALL_VERSIONS)
    memberships = (request.survey.membership(role.subject, schema_id) for schema_id in sorted(ids))
    yield from (membership for membership in memberships if membership.is_missing)


def wants_of(code: str) -> Callable[[Finding, RepairRequest], Wanted]:
    """What the phantom subject lacks by a finding of this code; a note only if `--also` has this code or SRF001."""
    codes = frozenset((CODE, code))

    def wants(finding: Finding, request: RepairRequest) -> Wanted:
        facts = request.facts_of(finding)
        if not finding.repairable or facts is None or request.width is Width.ALL_VERSIONS:
            return
        if finding.severity is Severity.NOTE and not codes & request.also:
            yield _not_needed(code, facts, finding.subject, request)
        else:
            yield want_of_phantom(facts, facts.roles[finding.role], request, finding, code=code)

    return wants


def repair_of(code: str, also: str, *, of_global_stores: bool) -> Repair:
    """The repair of missing ids that a code reports, for global stores or all others; `--also SRF001` asks for both."""

    def without_census(facts: StoreFacts, role: RoleFacts, context: CheckContext, request: RepairRequest) -> Wanted:
        if of_global_stores is not is_of_global_store(facts, context):
            return
        want = want_of_phantom(facts, role, request, code=code)
        if context.lookup_severity(role.subject) is not Severity.NOTE or not request.also.isdisjoint({CODE, code}):
            yield want
        elif want.missing:
            yield _not_needed(code, facts, role.subject, request)

    return Repair(wants=wants_of(code), without_census=without_census, also=also)


def _not_needed(code: str, facts: StoreFacts, subject: Subject, request: RepairRequest) -> PassedOver:
    return PassedOver(
        code=code,
        subject=subject,
        why=(
            f"{subject} lacks schema ids of store {facts.store}. This is only a note ({code}): nothing fails, "
            "because the store's reader does not ask for these ids there now. To register the ids nevertheless: "
            f"{request.plan_with(facts.store.application, facts.store.name, code)}."
        ),
    )


def _advise(request: AdviceRequest) -> Iterator[str]:
    from srfix.recovery.advice.playbook import after_repair, before_repair, prevention

    circumstances = request.circumstances
    yield from before_repair(circumstances)
    stores = {finding.store for finding in request.findings}
    undecided = sorted({finding.store for finding in request.findings if not finding.repairable})
    if undecided:
        sources = [f"{circumstances.application}/{store}=TOPIC" for store in undecided]
        options = " and ".join(shell_words("--source", source) for source in sources)
        yield (
            f"First say from which topic the store restores, with {options} (the findings show the commands). Until "
            "then srfix cannot plan a repair there."
        )
    if len(undecided) < len(stores):
        yield repair_in_words(request)
    yield from after_repair(circumstances, when="now")
    yield from prevention(circumstances, request.rules.upgrade)


def repair_in_words(request: AdviceRequest) -> str:
    command = request.command_line.quoted
    plan = command("plan", "--application", request.circumstances.application, "-o", "plan.json")
    return f"Repair: {plan}, read the plan, {command('apply', 'plan.json')}, {command('verify', 'plan.json')}."


def _do_not(circumstances: Circumstances) -> Iterator[str]:
    from srfix.recovery.advice.playbook import not_before_repair

    return not_before_repair(circumstances)


ADVICE: Final = Advice(
    serious=_advise,
    is_whole=True,
    note=lambda circumstances: f"Nothing to repair and nothing to restart: {circumstances.why_nothing_fails}.",
    recurs=True,
    do_not=_do_not,
)


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """A restore, or a version that asks the phantom subject again, brings ids that it lacks; not for a global store."""
    if not prospect.judged.store.is_global:
        yield from foretell_as(CODE, prospect)


def foretell_as(code: str, prospect: Prospect) -> Iterator[Foretold]:
    if prospect.asks_the_phantom is Certainty.EXCLUDED:
        return
    for role in prospect.roles:
        if prospect.new is None:
            yield from _foretell_missing(code, prospect, role)
        else:
            yield from _foretell_new(code, prospect, prospect.new, role)


def _foretell_missing(code: str, prospect: Prospect, role: Role) -> Iterator[Foretold]:
    judged, moment = prospect.judged, prospect.moment
    store, pair = judged.store, judged.subject_pair(role)
    if pair is not None and not pair.missing and (pair.ids or role is Role.KEY):
        return
    subject = store.changelog_subject(role)
    needless = judged.does_without(subject)
    breaks = Severity.BREAKS_ON_UPGRADE if moment is Moment.UPGRADE else Severity.BREAKS_ON_RESTORE
    yield judged.foretold(
        code,
        role,
        severity=Severity.NOTE if needless else breaks,
        certainty=weakest((prospect.asks_the_phantom, judged.looks_versions_up, _evidence(pair, role))),
        moment=moment,
        subject=subject,
        schema_ids=() if pair is None else pair.missing,
        explanation=" ".join(_foretold_of_phantom(judged, role, pair, needless=needless, moment=moment)),
        first=() if needless else tuple(_plan_before_restore(judged, is_known=pair is not None)),
    )


def _evidence(pair: SubjectPair | None, role: Role) -> Certainty:
    """How far registry and topic show that a restore loads ids that the phantom subject lacks, and will go on lacking:
    a serde that writes the producers' schema again would have registered it there."""
    if pair is None or not pair.own or role is Role.KEY:
        return Certainty.POSSIBLE
    return Certainty.CERTAIN if set(pair.missing) & set(pair.live) else Certainty.POSSIBLE


def _foretold_of_phantom(
    judged: JudgedStore, role: Role, pair: SubjectPair | None, *, needless: bool, moment: Moment
) -> Iterator[str]:
    store, subject = judged.store, judged.store.changelog_subject(role)
    what = "global store" if store.is_global else "store"
    yield f"A restore loads the records of topic {store.topic}, byte for byte, into {what} {store.name}."
    if moment is Moment.UPGRADE:
        yield (
            f"Kafka Streams {judged.assumed.to} asks {subject} for the schemas of these records and for the schemas "
            "of the rows that were kept."
        )
    else:
        yield f"The store's serdes ask {subject} for the schemas."
    if pair is None:
        yield (
            "Only the schemas that the application writes are registered there. The producers' schemas are not, "
            "unless the application writes them, too."
        )
    elif pair.missing:
        ids_registered = pair.phantom.schema_ids
        does = (
            f"holds {named_ids(ids_registered)}, but not" if ids_registered else "does not exist yet; the records carry"
        )
        yield f"{subject} {does} {named_ids(pair.missing)}."
    if needless:
        yield _needless(judged)
        return
    if judged.looks_versions_up is not Certainty.CERTAIN:
        yield (
            "If the reader looks up the version there, as Connect's converters and ksqlDB do, the restored rows "
            "cannot be read."
        )
    else:
        yield "So the restored rows cannot be read."
    if judged.asks_the_phantom(judged.running) is Certainty.UNTOLD and moment is Moment.RESTORE:
        yield _what_decides(judged)


def _needless(judged: JudgedStore) -> str:
    return f"A {judged.reader.value} reader can read the rows without versions under this subject, so nothing fails."


def _what_decides(judged: JudgedStore) -> str:
    missing = []
    if judged.running is None and not judged.store.is_ksqldb:
        missing.append("the version of Kafka Streams (--streams-version; 2.7 and later ask the source topic's subject)")
    if len(judged.wirings(judged.running)) > 1:
        missing.append("whether the source topic is reused (--optimization)")
    return f"This depends on {' and '.join(missing)}, which srfix does not know."


def _plan_before_restore(judged: JudgedStore, *, is_known: bool) -> Iterator[str]:
    if not is_known:
        yield "Run guard with --bootstrap-servers and --registry: guard then says which ids are missing."
    repair = judged.assumed.command_line.plan_and_apply(*judged.store.options)
    yield f"After the application has run, and before a restore: {repair}."


def _foretell_new(code: str, prospect: Prospect, new: NewSchema, role: Role) -> Iterator[Foretold]:
    """The first record with a new schema, and then a restore: the phantom subject lacks it."""
    from srfix.recovery.facts.subject_state import held_version

    judged, asks = prospect.judged, prospect.asks_the_phantom
    subject, registry, pair = judged.store.changelog_subject(role), judged.sight.registry, judged.subject_pair(role)
    if registry is not None and held_version(registry, subject, new.schema) is not None:
        return
    if pair is not None and role is Role.KEY and not pair.asks_a_registry:
        return
    needless = judged.does_without(subject)
    is_shown = pair is not None and bool(pair.own) and role is Role.VALUE
    evidence = Certainty.CERTAIN if is_shown else Certainty.POSSIBLE
    yield judged.foretold(
        code,
        role,
        severity=Severity.NOTE if needless else Severity.BREAKS_ON_RESTORE,
        certainty=weakest((asks, judged.looks_versions_up, evidence)),
        moment=Moment.SCHEMA,
        subject=subject,
        explanation=" ".join(_foretold_of_new(new, judged, subject, needless=needless, is_shown=is_shown)),
        first=() if needless else tuple(_plan_of_new(code, new, judged, role)),
    )
    if pair is not None and not needless:
        yield from srf012.foretell_of_new(new, pair.phantom, prospect, role)


def _foretold_of_new(
    new: NewSchema, judged: JudgedStore, subject: Subject, *, needless: bool, is_shown: bool
) -> Iterator[str]:
    store = judged.store
    whose = f"{'The global store' if store.is_global else 'Store'} {store.name} of application {store.application}"
    if judged.sight.registry is None:
        yield f"Nobody registers {new.origin} under {subject}."
    else:
        yield f"{new.origin} is not registered under {subject}."
    yield f"{whose} asks this subject for the schemas of the records of topic {store.topic}."
    if needless:
        yield _needless(judged)
        return
    looks_up = judged.looks_versions_up is Certainty.CERTAIN
    if_so = "" if looks_up else ", if the store's reader looks up the version there"
    yield f"After the first record with this schema, a restore brings rows that cannot be read (40403){if_so}."
    if not is_shown:
        yield (
            "Only a store that writes the producers' schemas unchanged registers the schema there by itself, when "
            "it writes such a record."
        )


def _plan_of_new(code: str, new: NewSchema, judged: JudgedStore, role: Role) -> Iterator[str]:
    yield f"Register {new.origin} under {new.subject}, but let no producer write with this schema yet."
    repair = judged.assumed.command_line.plan_and_apply(*judged.store.options, "--also", code)
    yield f"Register the schema under {judged.store.changelog_subject(role)}, too: {repair}."
    yield "Then let the producers write with this schema."


CHECK: Final = Check(
    code=CODE,
    title="A restored store cannot be read: its schema ids are not registered under the phantom subject",
    severity="broken",
    meaning=(
        "A restore fills the store with records of the source topic, byte for byte. But the reader looks up their "
        "schemas under the subject of a changelog topic that does not exist. That subject lacks the schemas (40403), "
        "or does not exist (40401). So every read of such a row fails with “Error retrieving Avro value schema "
        "version for id …”. If an interactive query meets the row, only the query fails. If a join or a table update "
        "meets it, the stream thread dies, again after each restart. srfix cannot see from cluster and registry "
        "whether a restore has already happened. If not, the next restore causes this failure. With --state-dir, "
        "srfix reads the rows of the store. If a row carries such an id, that confirms SRF001. If srfix has read all "
        "rows and none carries such an id, the finding is SRF002."
    ),
    cause="KAFKA-10179, Kafka Streams 2.0 to 2.6.3. With topology.optimization=all, the source topic of a table also "
    "serves as its changelog. A global table never has a changelog (SRF006). But Kafka Streams hands the name "
    "<application>-<store>-changelog to the store's serdes in both cases. While the application processes records, it "
    "writes each row again under the reader's own schema, and registers that schema under the phantom subject. After "
    "a lost state directory, a rebalance to another instance or a standby's take-over, the rows carry the source's "
    "schema ids instead. Readers that look up a version under the subject (Connect's AvroConverter, and so ksqlDB) "
    "refuse these rows. Plain Avro deserializers do not notice.",
    detection=(
        "srfix looks for subjects that have the name of a changelog's subject, but whose topic is missing from the "
        "full topic listing. It finds the source topic by evidence. It counts the schema ids that a restore would "
        "load, up to the group's committed offsets. For each id it looks up the schema under the phantom subject. "
        "Like the failing reader, it asks for the content of the schema and accepts soft-deleted versions. If that "
        "subject does not exist, and only a state directory or a topology names the store, the version of Kafka "
        "Streams decides (--streams-version): 2.7 and later never ask the subject. If srfix does not know the "
        "version, it makes no finding, and says that it could not decide."
    ),
    remedy=(
        "Run srfix plan, srfix apply and srfix verify. These commands register the source's schemas under the phantom "
        "subject. The schemas keep their ids. A running application can read again at once. Do not wipe the state "
        "directory on 2.6.3 or older: the wipe causes the failure. Restart instances whose thread died. A reader with "
        "the dual-subject fallback reads the rows without any repair."
    ),
    find=check,
    foretell=foretell,
    without_source=lambda finding, which_is_true: replace(finding, next=which_is_true),
    repair=repair_of(
        CODE,
        also="ids that srfix reports only as a note, because the reader does not need them, or does not "
        "need them yet (SRF003)",
        of_global_stores=False,
    ),
    advice=ADVICE,
)
