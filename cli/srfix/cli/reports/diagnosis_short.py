"""The short report of a diagnosis, on one screen: what is wrong, what not to do, and the command to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from srfix.cli.output.interface import Block, Commands, FieldList, Folded, Heading, ItemList, Paragraph, table_of
from srfix.cli.reports import diagnosis_words as words
from srfix.cli.reports.diagnosis_details import MOST_SOURCES, finding_in_detail, for_and_against
from srfix.cli.reports.pictures import picture_of
from srfix.cli.session import ClusterSession
from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Diagnosis, Finding, Severity
from srfix.recovery.ids_in_words import counted, enumerated
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.repair.planning.wanted import ONLY_ON_REQUEST
from srfix.recovery.report.in_short import InShort, StoreInShort, in_short
from srfix.recovery.report.places import ids_in_short, keys_in_short, ranges
from srfix.serde.errors import SrfixError
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import Role

_MOST_IDS: Final = 200
"""Up to this number of missing ids, srfix makes a plan to count its writes."""
_MOST_STORES: Final = 10
"""This number of stores have their own part; the others are only named."""
_HELD: Final = {True: "yes", False: "no", None: "-"}
_MOST_REASONS: Final = 10
"""The most reasons for skipped checks that the report lists."""


def foreseen(session: ClusterSession, examination: Examination) -> InShort:
    """The short diagnosis, with the number of writes of its repair. Reads only.

    The writes are not counted if no repair can be planned (`srfix plan` says why), or if a plan would ask for very many
    ids.
    """
    also = words.repair_on_request(examination.diagnosis)
    ids = sum(len(finding.schema_ids) for finding in examination.diagnosis.findings if finding.repairable)
    if also is None or ids > _MOST_IDS:
        return in_short(examination, None)
    try:
        plan = make_plan(
            examination, session.survey, also=[word for word in also if word != "--also"], context=session.check_context
        )
    except SrfixError:
        return in_short(examination, None)
    return in_short(examination, plan)


def diagnosis_in_short(
    diagnosis: Diagnosis, short: InShort, command_line: CommandLine, *, facts: Sequence[StoreFacts] | None = None
) -> Iterator[Block]:
    """The blocks: each finding once, then the text about all of them. With `facts`, each has its picture and its
    details."""
    if not short.stores:
        yield Paragraph(words.nothing_found(diagnosis))
    kinds: dict[tuple[str, str], list[StoreInShort]] = {}
    for store in short.stores:
        kinds.setdefault((store.finding.code, store.finding.severity.value), []).append(store)
    for (code, severity), stores in kinds.items():
        yield from _of_one_kind(code, severity, stores, facts)
    if short.do_not:
        yield Paragraph(f"Until this is repaired: {_do_not(short.do_not)}.", is_warning=True)
    also = words.repair_on_request(diagnosis)
    if also is not None:
        how_many = f", in {counted(short.writes, 'write')}" if short.writes and len(short.stores) > 1 else ""
        in_the_way = sorted(
            {note.code for store in short.stores for note in store.finding.notes if not note.repairable}
        )
        if in_the_way:
            yield Paragraph(
                f"First follow the advice of {', '.join(in_the_way)}. Then plan the repair and read the plan:"
            )
        else:
            yield Paragraph(f"To repair {_what_a_plan_repairs(short.stores)}{how_many}, make a plan and read the plan:")
        yield Commands((command_line.command("plan", *also, "-o", "plan.json"),))
        yield from words.secrets_to_add(command_line, "plan")
    last = [*_notes(short.notes), *_not_looked_at(diagnosis)]
    if facts is None and (diagnosis.findings or diagnosis.not_looked_at):
        meaning = f". {command_line.quoted('explain', diagnosis.findings[0].code)}" if diagnosis.findings else ""
        last.append(f"--details shows the evidence and all advice{meaning}")
    if facts is not None and last:
        yield Heading("Also to know", level=2, is_apart=True)
    if last:
        yield ItemList(tuple(last))
    if facts is not None:
        yield from _folded(diagnosis, short.notes)
    if diagnosis.ignored:
        yield Paragraph(words.ignored_line(diagnosis))


def _folded(diagnosis: Diagnosis, notes: Sequence[Finding]) -> Iterator[Block]:
    """The text about more than one finding, and the notes; folded away."""
    for note in notes:
        yield Folded(words.title(note), tuple(finding_in_detail(note)))
    if diagnosis.not_looked_at:
        lines = tuple(words.skipped_lines(diagnosis.not_looked_at))
        yield Folded(f"Not looked at: {counted(len(diagnosis.not_looked_at), 'thing')}", (ItemList(lines),))
    for application_advice in diagnosis.applications:
        if application_advice.advice:
            yield Folded(
                f"What to do before and after a repair: {application_advice.application}",
                (ItemList(application_advice.advice, is_numbered=True),),
            )


def _with_details(finding: Finding, facts: Sequence[StoreFacts] | None) -> Iterator[Block]:
    """The finding with its picture, and with all its details folded away."""
    if facts is not None:
        yield from picture_of(finding, facts)
        yield Folded(f"Why, and on what evidence: {_whose(finding)}", tuple(finding_in_detail(finding)))


def _of_one_kind(
    code: str, severity: str, stores: Sequence[StoreInShort], facts: Sequence[StoreFacts] | None
) -> Iterator[Block]:
    entry, tone = BY_CODE[code].entry, words.tone_of(stores[0].finding.severity)
    if len(stores) == 1:
        yield Heading(words.title(stores[0].finding), tone=tone)
        yield FieldList((("what", _explained(entry.title)), *_facts(stores[0], has_table=True)))
        yield from _ids(stores[0])
        yield from _next(stores)
        yield from _with_details(stores[0].finding, facts)
        return
    yield Heading(f"{code}, {severity}, {len(stores)} findings: {_explained(entry.title)}", tone=tone)
    for store in stores[:_MOST_STORES]:
        yield FieldList(tuple(_facts(store)), title=_whose(store.finding))
        yield from _with_details(store.finding, facts)
    if facts is not None:
        for store in stores[_MOST_STORES:]:
            whose = _whose(store.finding)
            yield Folded(whose, (FieldList(tuple(_facts(store))), *finding_in_detail(store.finding, facts)))
    elif len(stores) > _MOST_STORES:
        yield Paragraph(f"And {words.some([_whose(store.finding) for store in stores[_MOST_STORES:]])}.")
    yield from _next(stores)


def _explained(title: str) -> str:
    """A code's title. At its first use, the phantom subject is explained."""
    phantom = "the phantom subject"
    return title.replace(phantom, f"{phantom} (named after a changelog topic that does not exist)", 1)


def _ids(store: StoreInShort) -> Iterator[Block]:
    """The missing ids: the records that carry them, and the subjects under which a reader finds them."""
    if store.ids:
        yield table_of(
            store.ids,
            {
                "id": lambda id_standing: id_standing.fault.schema_id,
                "live keys": lambda id_standing: keys_in_short(id_standing.fault),
                "partitions": lambda id_standing: ranges(p.partition for p in id_standing.fault.partitions) or "-",
                "under the source": lambda id_standing: _HELD[id_standing.under_source],
                "under this subject": lambda id_standing: _HELD[id_standing.under_phantom],
            },
        )


def _whose(finding: Finding) -> str:
    return f"{finding.application} / {finding.store}{' (keys)' if finding.role is Role.KEY else ''}"


def _facts(store: StoreInShort, *, has_table: bool = False) -> Iterator[tuple[str, str]]:
    finding = store.finding
    yield "subject", finding.subject
    if BY_CODE[finding.code].find_of_application is not None:
        yield "ids there", enumerated(finding.registered_ids) or "none"
    elif finding.source is None:
        topics = list(dict.fromkeys(candidate.topic for candidate in finding.considered if candidate.topic is not None))
        yield "source", f"not decided: {words.some(topics)}" if topics else "not decided"
        for candidate in finding.considered[:MOST_SOURCES]:
            if candidate.topic is not None:
                yield candidate.topic, for_and_against(candidate)
    else:
        yield "source", f"{finding.source.topic} ({store.certainty or 'no'} evidence)"
    if finding.schema_ids and not (has_table and store.ids):
        yield "ids", ids_in_short(finding.schema_ids)
    if store.data is not None:
        yield "data", store.data
    if finding.repairable:
        overcome = [note.code for note in finding.notes if note.repairable]
        is_refused = any(not note.repairable for note in finding.notes)
        is_on_request = finding.code in ONLY_ON_REQUEST
        unplanned = (
            "not possible now"
            if is_refused
            else f"only on request (--also {finding.code})"
            if is_on_request
            else "srfix plan says how"
        )
        how = counted(store.writes, "write") if store.writes else unplanned
        around = f"; the plan prevents that the registry refuses them ({', '.join(overcome)})" if overcome else ""
        yield "repair", how + around
    for note in finding.notes:
        if not note.repairable:
            yield note.code, f"{note.explanation} {note.next}"


def _next(stores: Sequence[StoreInShort]) -> Iterator[Block]:
    """The advice for findings that no plan repairs; each sentence once."""
    findings = [store.finding for store in stores if not store.finding.repairable]
    for next_step in dict.fromkeys(finding.next for finding in findings):
        yield Paragraph(next_step)


def _do_not(prohibitions: Sequence[str]) -> str:
    """`do not a`, `do not a, and do not b`: each prohibition gets its own "do not"."""
    *others, last = (f"do not {each}" for each in prohibitions)
    return f"{', '.join(others)}, and {last}" if others else last


def _what_a_plan_repairs(stores: Sequence[StoreInShort]) -> str:
    """`it`; or the names of the codes, if no plan repairs the other findings."""
    if all(store.finding.repairable for store in stores):
        return "it"
    return enumerated(sorted({store.finding.code for store in stores if store.finding.repairable}))


def _notes(notes: Sequence[Finding]) -> Iterator[str]:
    """One line for each code. If a title says that something is broken, the line adds that nothing is broken now."""
    by_code: dict[str, list[Finding]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(note)
    for code, code_notes in by_code.items():
        if BY_CODE[code].is_of_repair:
            yield from (f"Note {code}: {note.explanation} {note.next}" for note in code_notes)
        else:
            entry = BY_CODE[code]
            harmless = ", breaks nothing now" if entry.severity == Severity.BROKEN.value else ""
            yield f"Note {code}{harmless}: {entry.title} ({words.some(list(dict.fromkeys(map(_whose, code_notes))))})"


def _not_looked_at(diagnosis: Diagnosis) -> Iterator[str]:
    """The skipped checks that could hide a finding, up to a number of reasons, and the number of the others."""
    hiding = [gap for gap in diagnosis.not_looked_at if gap.could_hide]
    lines = list(words.skipped_lines(hiding))
    for line in lines[:_MOST_REASONS]:
        yield f"Not looked at: {line}"
    if len(lines) > _MOST_REASONS:
        more = counted(len(lines) - _MOST_REASONS, "other reason")
        yield f"Not looked at for {more}: more things that could hide a finding; --details lists them"
    harmless_count = len(diagnosis.not_looked_at) - len(hiding)
    if harmless_count and (hiding or not diagnosis.has_findings):  # otherwise the verdict says it
        besides = "besides, " if hiding else ""
        yield capitalized(f"{besides}{counted(harmless_count, 'thing')} not looked at; this cannot hide a finding")
