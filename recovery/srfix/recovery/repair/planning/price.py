"""The cost of a repair: its changes for others, in sentences, and whether the registry accepts so many versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from srfix.recovery.actions.actions import Action
from srfix.recovery.checks import srf016
from srfix.recovery.checks.interface import Owner, Width
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.refusals import list_holders
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import TopicFacts
from srfix.recovery.ids_in_words import enumerated, named_ids
from srfix.recovery.repair.plan_file import Cost, cost_of
from srfix.recovery.repair.planning.repairs import SubjectRepair
from srfix.serde.printable import capitalized, counted
from srfix.serde.subjects.names import Subject


def price(repairs: Collection[SubjectRepair], *, width: Width) -> Iterator[str]:
    """What the repairs change for others. Each sentence comes once, with its subjects if it does not hold for all."""
    paid = [repair for repair in repairs if repair.missing]  # else another store's repair of the same subject says it
    subjects = {repair.want.role.subject for repair in paid}
    subjects_by_sentence: dict[str, dict[Subject, None]] = {}
    for repair in paid:
        for sentence in _of_subject(repair):
            subjects_by_sentence.setdefault(sentence, {})[repair.want.role.subject] = None
    for sentence, subjects_of_sentence in subjects_by_sentence.items():
        yield (
            sentence if len(subjects_of_sentence) == len(subjects) else f"{', '.join(subjects_of_sentence)}: {sentence}"
        )
    yield from dict.fromkeys(sentence for repair in paid for sentence in _beside_subject(repair, width=width))


def _of_subject(repair: SubjectRepair) -> Iterator[str]:
    yield from _versions(repair)
    yield from _latest(repair)
    yield _users(repair)
    if repair.relax:
        yield (
            "While the repair runs (seconds), the subject accepts any schema: its compatibility is NONE. No other "
            "subject is touched."
        )
        if repair.is_level_ambiguous:
            yield (
                "The subject's configuration has fields of its own. srfix does not know whether the level "
                f"{repair.level} is the subject's own, or inherited. At the end, the repair sets the level back. If "
                "the level is BACKWARD, the repair lets the subject inherit it, which has the same effect now. If "
                "the level is another one, the repair sets it as the subject's own level."
            )
    if repair.exact:
        yield (
            "While the repair runs (seconds), the subject is in mode IMPORT. It accepts schemas with their ids, "
            "and checks nothing. During this time the registry refuses a registration without an id, such as the "
            "application's own (42205). No other subject is touched."
        )


def _beside_subject(repair: SubjectRepair, *, width: Width) -> Iterator[str]:
    if repair.want.mirrors:
        yield (
            f"This plan writes only to {repair.want.role.subject}. The same subject is in other contexts, too, and "
            f"lacks the same schemas there: {', '.join(repair.want.mirrors)}. The registry URL of the application "
            "shows which of these subjects the store's reader asks. For another context, run srfix plan with that "
            "context's URL (--registry URL/contexts/CONTEXT)."
        )
    census = repair.want.facts.census
    if width is Width.ALL_VERSIONS:
        topic = repair.want.facts.source.topic if repair.want.facts.source is not None else "the source topic"
        yield (
            f"srfix did not count the ids in {topic}. The plan takes every version of the topic's subject, also "
            "versions that no record carries. If a version was permanently deleted, or belongs to another subject, the "
            "plan lacks its id, even if records carry it. Run srfix diagnose when there is time."
        )
    elif census is not None and census.is_partial:
        yield (
            f"srfix did not read topic {census.topic} to its end (--deadline, --max-records, or another reason that "
            f"{_look(repair)} names). The plan may lack ids that are only in the unread records. After the repair, "
            f"run {_look(repair)} without a limit."
        )


def _look(repair: SubjectRepair) -> str:
    return "srfix check" if isinstance(repair.want.facts, TopicFacts) else "srfix diagnose"


def _versions(repair: SubjectRepair) -> Iterator[str]:
    if any(m.schema_id not in repair.any_id for m in repair.missing):
        which_ids = "The ids" if not repair.any_id else "The other ids"
        yield f"{which_ids} exist already; the registry gives out no new id."
    for carried, reason in sorted(repair.any_id.items()):
        yield (
            f"The subject gets a version with the content of schema id {carried}. srfix cannot predict its id, "
            f"which may be a new one: {reason}. Readers ask by content and accept any id. A rollback keeps the last "
            "version of an id."
        )
    for carried, new_id in sorted(repair.new_ids.items()):
        if repair.exact:
            yield (
                f"The content of schema id {carried} also has id {new_id}. After the repair, a registration of this "
                f"content under another subject gets id {carried} instead."
            )
        else:
            yield (
                f"Records carry schema id {carried}. For the same content the registry gives id {new_id}, so the plan "
                f"registers id {new_id}. Readers ask by content and accept this id."
            )


def _latest(repair: SubjectRepair) -> Iterator[str]:
    deleted = _listed(repair, deleted=True)
    live = _listed(repair, deleted=False)
    if deleted:
        yield (
            f"Each new version{f' of {deleted}' if live else ''} is soft-deleted right after its registration. The "
            f"failing reader still finds it, because it asks with deleted=true. {repair.level} checks ignore it, "
            "but it counts towards the registry's limit of schemas."
        )
        if not live and not repair.want.role.state.live:
            yield "The subject still has no live version, so the registry checks the next schema there against nothing."
    if live:
        yield (
            f"Each new version{f' of {live}' if deleted else ''} stays live. The last of them becomes the latest "
            "version of the subject."
        )
    if repair.left_live_for:
        yield (
            "The plan soft-deletes nothing, because the failing reader would not find a soft-deleted version: "
            f"{repair.left_live_for}."
        )
    yield _outlook(repair, leaves_live=bool(live))


def _outlook(repair: SubjectRepair, *, leaves_live: bool) -> str:
    outlook, level = repair.outlook, repair.level
    whose, next_schema = "the application's", "the application's next internal schema"
    if repair.want.owner is Owner.PRODUCERS:
        whose, next_schema = "the producers'", "the next schema of its producers"
    next_one = capitalized(next_schema)
    own = outlook.own
    which = "" if own is None else f" (version {own.version}, schema id {own.schema_id})"
    its_own = f"{whose} own schema{which}"
    if outlook.refused_by:
        before = {version.schema_id for version in repair.want.role.state.live}
        left = [schema_id for schema_id in outlook.refused_by if schema_id not in before]
        ids_before = [schema_id for schema_id in outlook.refused_by if schema_id in before]
        why = [f"{named_ids(left)}, which this repair leaves live"] if left else []
        why += [f"{named_ids(ids_before)}, which is live there already"] if ids_before else []
        instead = " Plan with --keep auto, which soft-deletes such a version at once." if left else ""
        if left and repair.left_live_for:
            subject = repair.want.role.subject
            instead = (
                f" If that schema must be registered, {subject} needs a level that accepts it, such as NONE (PUT "
                f"/config/{subject})."
            )
        return (
            f"{next_one} will be refused (409) at {level}, because {its_own} is incompatible with "
            f"{', and with '.join(why)}.{instead}"
        )
    if outlook.untold:
        why_not = (
            f"srfix does not know which of the subject's schemas is {whose} own"
            if own is None
            else f"srfix cannot compare {its_own} with other schemas"
        )
        instead = " Plan with --keep soft-deleted to be sure that it is accepted." if leaves_live else ""
        return (
            f"srfix does not know whether {next_schema} will be accepted at {level}: schema id "
            f"{enumerated(outlook.untold)} is live, and {why_not}.{instead}"
        )
    if leaves_live and level != "NONE":
        return f"{next_one} is checked against this version at {level}: {its_own} is compatible."
    return f"{next_one} is accepted as before."


def _listed(repair: SubjectRepair, *, deleted: bool) -> str:
    chosen = {
        int(repair.registered_as(membership.schema_id))
        for membership in repair.missing
        if (membership.schema_id in repair.soft_deleted) is deleted
    }
    return enumerated(sorted(chosen))


def _users(repair: SubjectRepair) -> str:
    facts = repair.want.facts
    if isinstance(facts, TopicFacts):
        if repair.want.role.subject == facts.source.subject:
            return (
                f"The subject belongs to topic {facts.source.topic} itself. The topic's producers register there, "
                "and consumers that take the latest version look there."
            )
        return (
            f"Readers of topic {facts.source.topic} ask the subject. The registry checks every new schema there "
            "against the subject's live versions. Consumers that take the latest version look there, too."
        )
    if repair.want.owner is Owner.PRODUCERS:
        topic = repair.want.facts.source.topic if repair.want.facts.source is not None else "the source topic"
        return (
            f"The subject belongs to topic {topic} itself. The topic's producers register there, and consumers that "
            "take the latest version look there. From Kafka Streams 2.7 on, the application itself registers its "
            f"internal schema there, too, and may get 409 (`srfix explain {srf016.CODE}`)."
        )
    alone = "No topic has the subject's name: normally only the store's own serde uses the subject"
    if not repair.also_by:
        return f"{alone}."
    return f"{alone}. Perhaps these use it, too: {'; '.join(repair.also_by)}."


def cost_within(actions: Sequence[Action], survey: Survey, version_limit: int | None, *, less: str) -> Cost:
    """The cost of these steps, against the limit if there is one; `less` names the options that make a smaller plan."""
    version_count = None if version_limit is None or not actions else len(list_holders(survey.registry))
    cost = cost_of(actions, held=version_count, limit=version_limit)
    if cost.exceeds:
        raise PlanError(
            f"No plan was made: the plan would register {counted(cost.versions, 'version')}, and then the registry would hold "
            f"{(version_count or 0) + cost.versions:,}. But --version-limit allows {version_limit:,} versions "
            f"(soft-deleted ones count too). Make room, or plan less with {less}."
        )
    return cost
