"""A diagnosis for a person: on one screen (what is wrong, what not to do, the command to run), or finding by finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from srfix.cli.output import interface as blocks
from srfix.cli.reports import diagnosis_words as words
from srfix.cli.reports.pictures import picture_of
from srfix.cli.session import ClusterSession
from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Considered, Diagnosis, Evidence, Finding, Severity
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.repair.planning.wanted import ONLY_ON_REQUEST
from srfix.recovery.report.in_short import InShort, StoreInShort, in_short
from srfix.recovery.report.places import ids_in_short, keys_in_short, ranges
from srfix.serde.errors import SrfixError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role

MOST_SOURCES: Final = 5
"""This number of possible sources is shown in full."""
_FEW_TOPICS: Final = 2
"""For this number of topics besides the source, the evidence is shown in full."""


def diagnosis_in_detail(
    diagnosis: Diagnosis, command_line: CommandLine, *, facts: Sequence[StoreFacts] = ()
) -> Iterator[blocks.Block]:
    """All findings with their place and reasons, the notes, what was not looked at, and what to do."""
    if not diagnosis.findings:
        yield blocks.Paragraph(words.nothing_found(diagnosis))
    elif len(diagnosis.findings) > 1:
        # This is not a table, because the names of application and store leave no room for other columns.
        yield blocks.ItemList(tuple(f"{words.title(finding)}{_keys(finding)}" for finding in diagnosis.findings))
    for finding in diagnosis.findings:
        yield blocks.Heading(words.title(finding), tone=words.tone_of(finding.severity))
        yield from finding_in_detail(finding, facts)
    yield from blocks.titled_list("Not looked at", words.skipped_lines(diagnosis.not_looked_at), is_apart=True)
    if diagnosis.ignored:
        yield blocks.Paragraph(words.ignored_line(diagnosis))
    yield from words.advice_blocks(diagnosis.applications)
    also = words.repair_on_request(diagnosis)
    if also is not None:
        yield blocks.Heading("How to repair", level=2, is_apart=True)
        yield from words.to_run(
            command_line, ("plan", *also, "-o", "plan.json"), ("apply", "plan.json"), ("verify", "plan.json")
        )


def _keys(finding: Finding) -> str:
    if finding.severity is Severity.NOTE or not finding.schema_ids:
        return ""
    ids = enumerated(fault.schema_id for fault in finding.schema_ids)
    live_keys = [fault.live_keys for fault in finding.schema_ids if fault.live_keys is not None]
    least = "at least " if any(fault.is_partial for fault in finding.schema_ids) else ""
    named = "schema id" if len(finding.schema_ids) == 1 else "schema ids"
    return f": {named} {ids}" + (f" in {least}{counted(sum(live_keys), 'live key')}" if live_keys else "")


def finding_in_detail(finding: Finding, facts: Sequence[StoreFacts] = ()) -> Iterator[blocks.Block]:
    """The full text about one finding and its repair; with its picture if the caller gives the facts."""
    source = "not decided" if finding.source is None else f"{finding.source.topic} (subject {finding.source.subject})"
    registered, splits = enumerated(finding.registered_ids) or "nothing", ", ".join(finding.other_splits)
    yield blocks.Paragraph(finding.explanation)
    yield blocks.FieldList(
        (
            ("subject", finding.subject),
            ("schema ids there", registered),
            *((("restores from", source),) if BY_CODE[finding.code].find_of_application is None else ()),
            *((("name also fits", f"{splits} (application/store)"),) if splits else ()),
        )
    )
    if facts:
        yield from picture_of(finding, facts)
    if finding.severity is not Severity.NOTE:
        # A note stands beside a finding with the same numbers, or has nothing to count.
        if any(fault.partitions for fault in finding.schema_ids):
            is_partial = any(fault.is_partial for fault in finding.schema_ids)
            yield blocks.table_of(
                ((fault, place) for fault in finding.schema_ids for place in fault.partitions),
                {
                    "schema id": lambda row: row[0].schema_id,
                    "partition": lambda row: row[1].partition,
                    "live keys": lambda row: row[1].live_keys,
                    "not yet committed": lambda row: row[1].pending_keys,
                    "offsets": lambda row: f"{row[1].first_offset} to {row[1].last_offset}",
                },
                title=BY_CODE[finding.code].partial if is_partial else None,
            )
        yield from blocks.titled_list("Evidence", _evidence(finding))
        yield from blocks.titled_list("Possible sources", _possible(finding))
        observations = (
            f"{observation.kind} {observation.says}: {observation.detail} ({observation.weight.value})"
            for observation in finding.observations
        )
        yield from blocks.titled_list("What srfix sees of the application", observations)
    yield blocks.Paragraph(f"Next: {finding.next}")
    for note in finding.notes:
        yield blocks.Heading(f"About the repair ({note.code})", level=2)
        yield blocks.Paragraph(f"{note.explanation} {note.next}")


def _evidence(finding: Finding) -> Iterator[str]:
    """The evidence about the application and the source, and about the other topics if there are only a few."""
    if finding.considered:
        if not _has_several_splits(finding):
            yield from (_piece(piece) for piece in finding.evidence if piece.topic is None)
        return
    source = finding.source and finding.source.topic
    other_topics = list(dict.fromkeys(p.topic for p in finding.evidence if p.topic is not None and p.topic != source))
    is_long = source is not None and len(other_topics) > _FEW_TOPICS
    for piece in finding.evidence:
        if not is_long or piece.topic in (None, source):
            yield _piece(piece)
    if is_long:
        named = words.some(other_topics)
        yield (
            f"topics that srfix compared but did not choose: {named} (--output json shows the evidence for and against "
            "each topic)"
        )


def _has_several_splits(finding: Finding) -> bool:
    return len({(candidate.application, candidate.store) for candidate in finding.considered}) > 1


def _piece(piece: Evidence) -> str:
    speaks_of = piece.topic or f"application {piece.application}"
    worth = f"{piece.weight.value} against it" if piece.against else piece.weight.value
    detail = piece.detail.removeprefix(f"group {piece.application}: ") if piece.topic is None else piece.detail
    return f"{speaks_of}: {detail} ({piece.kind}, {worth})"


def _possible(finding: Finding) -> Iterator[str]:
    """The first possible sources, each with the evidence for and against it."""
    several = _has_several_splits(finding)
    for candidate in finding.considered[:MOST_SOURCES]:
        topic = (
            f"topic {candidate.topic}{' (gone)' if candidate.is_gone else ''}" if candidate.topic else "no known topic"
        )
        whose = f"store {candidate.store} of {candidate.application}, from {topic}" if several else topic
        yield f"{whose}. {for_and_against(candidate, several=several)}"
    if more := [candidate.topic or "no known topic" for candidate in finding.considered[MOST_SOURCES:]]:
        yield (
            f"also possible: {words.some(list(dict.fromkeys(more)))} (--output json shows the evidence for and against "
            "each topic)"
        )


def for_and_against(candidate: Considered, *, several: bool = False) -> str:
    """For and against a possible source. Evidence about the application only if the application is in question."""
    pieces = [piece for piece in candidate.evidence if several or piece.topic is not None]
    pro = "; ".join(piece.detail for piece in pieces if not piece.against) or "nothing"
    con = "; ".join(piece.detail for piece in pieces if piece.against) or "nothing"
    return f"For it: {pro}. Against it: {con}"


_MOST_IDS: Final = 200
"""Up to this number of missing ids, srfix makes a plan to count its writes."""
_MOST_STORES: Final = 10
"""This number of stores have their own part; the others are only named."""
_HELD: Final = {True: "yes", False: "no", None: "-"}
_MOST_REASONS: Final = 10
"""The most reasons for skipped checks that the report lists."""


def foreseen(session: ClusterSession, examination: Examination) -> InShort:
    """The short diagnosis, with the number of its repair's writes, unless none can be planned. Reads only."""
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
) -> Iterator[blocks.Block]:
    """Each finding once, then the text about all of them. With `facts`, each has its picture and its details."""
    if not short.stores:
        yield blocks.Paragraph(words.nothing_found(diagnosis))
    kinds = blocks.grouped(short.stores, lambda store: (store.finding.code, store.finding.severity.value))
    for (code, severity), stores in kinds.items():
        yield from _of_one_kind(code, severity, stores, facts)
    if short.do_not:
        *others, final = (f"do not {each}" for each in short.do_not)
        prohibitions = f"{', '.join(others)}, and {final}" if others else final
        yield blocks.Paragraph(f"Until this is repaired: {prohibitions}.", is_warning=True)
    also = words.repair_on_request(diagnosis)
    if also is not None:
        how_many = f", in {counted(short.writes, 'write')}" if short.writes and len(short.stores) > 1 else ""
        in_the_way = sorted(
            {note.code for store in short.stores for note in store.finding.notes if not note.repairable}
        )
        if in_the_way:
            yield blocks.Paragraph(
                f"First follow the advice of {', '.join(in_the_way)}. Then plan the repair and read the plan:"
            )
        else:
            codes = enumerated(sorted({store.finding.code for store in short.stores if store.finding.repairable}))
            what = "it" if all(store.finding.repairable for store in short.stores) else codes
            yield blocks.Paragraph(f"To repair {what}{how_many}, make a plan and read the plan:")
        yield from words.to_run(command_line, ("plan", *also, "-o", "plan.json"))
    last = [*_notes(short.notes), *_not_looked_at(diagnosis)]
    if facts is None and (diagnosis.findings or diagnosis.not_looked_at):
        meaning = f". {command_line.quoted('explain', diagnosis.findings[0].code)}" if diagnosis.findings else ""
        last.append(f"--details shows the evidence and all advice{meaning}")
    if facts is not None and last:
        yield blocks.Heading("Also to know", level=2, is_apart=True)
    if last:
        yield blocks.ItemList(tuple(last))
    if facts is not None:
        yield from _folded(diagnosis, short.notes)
    if diagnosis.ignored:
        yield blocks.Paragraph(words.ignored_line(diagnosis))


def _folded(diagnosis: Diagnosis, notes: Sequence[Finding]) -> Iterator[blocks.Block]:
    """The text about more than one finding, and the notes; folded away."""
    for note in notes:
        yield blocks.Folded(words.title(note), tuple(finding_in_detail(note)))
    if diagnosis.not_looked_at:
        lines = tuple(words.skipped_lines(diagnosis.not_looked_at))
        yield blocks.Folded(
            f"Not looked at: {counted(len(diagnosis.not_looked_at), 'thing')}", (blocks.ItemList(lines),)
        )
    for application_advice in diagnosis.applications:
        if application_advice.advice:
            yield blocks.Folded(
                f"What to do before and after a repair: {application_advice.application}",
                (blocks.ItemList(application_advice.advice, is_numbered=True),),
            )


def _with_details(finding: Finding, facts: Sequence[StoreFacts] | None) -> Iterator[blocks.Block]:
    """The finding with its picture, and with all its details folded away."""
    if facts is not None:
        yield from picture_of(finding, facts)
        yield blocks.Folded(f"Why, and on what evidence: {_whose(finding)}", tuple(finding_in_detail(finding)))


def _of_one_kind(
    code: str, severity: str, stores: Sequence[StoreInShort], facts: Sequence[StoreFacts] | None
) -> Iterator[blocks.Block]:
    entry, tone = BY_CODE[code], words.tone_of(stores[0].finding.severity)
    if len(stores) == 1:
        source = stores[0].finding.source
        phantom = "the phantom" if source is not None and stores[0].finding.subject == source.subject else "this"
        yield blocks.Heading(words.title(stores[0].finding), tone=tone)
        yield blocks.FieldList((("what", _explained(entry.title)), *_facts(stores[0], has_table=True)))
        if stores[0].ids:
            yield blocks.table_of(
                stores[0].ids,
                {
                    "id": lambda id_standing: id_standing.fault.schema_id,
                    "live keys": lambda id_standing: keys_in_short(id_standing.fault),
                    "partitions": lambda id_standing: ranges(p.partition for p in id_standing.fault.partitions) or "-",
                    "under the source": lambda id_standing: _HELD[id_standing.under_source],
                    f"under {phantom} subject": lambda id_standing: _HELD[id_standing.under_phantom],
                },
            )
        yield from _next(stores)
        yield from _with_details(stores[0].finding, facts)
        return
    yield blocks.Heading(f"{code}, {severity}, {len(stores)} findings: {_explained(entry.title)}", tone=tone)
    for store in stores[:_MOST_STORES]:
        yield blocks.FieldList(tuple(_facts(store)), title=_whose(store.finding))
        yield from _with_details(store.finding, facts)
    if facts is not None:
        for store in stores[_MOST_STORES:]:
            whose = _whose(store.finding)
            yield blocks.Folded(
                whose, (blocks.FieldList(tuple(_facts(store))), *finding_in_detail(store.finding, facts))
            )
    elif len(stores) > _MOST_STORES:
        yield blocks.Paragraph(f"And {words.some([_whose(store.finding) for store in stores[_MOST_STORES:]])}.")
    yield from _next(stores)


def _explained(title: str) -> str:
    """A code's title. At its first use, the phantom subject is explained."""
    phantom = "the phantom subject"
    return title.replace(phantom, f"{phantom} (named after a changelog topic that does not exist)", 1)


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
        unplanned = (
            f"only on request (--also {finding.code})" if finding.code in ONLY_ON_REQUEST else "srfix plan says how"
        )
        if any(not note.repairable for note in finding.notes):
            unplanned = "not possible now"
        how = counted(store.writes, "write") if store.writes else unplanned
        around = f"; the plan makes sure that the registry accepts them ({', '.join(overcome)})" if overcome else ""
        yield "repair", how + around
    for note in finding.notes:
        if not note.repairable:
            yield note.code, f"{note.explanation} {note.next}"


def _next(stores: Sequence[StoreInShort]) -> Iterator[blocks.Block]:
    """The advice for findings that no plan repairs; each sentence once."""
    findings = [store.finding for store in stores if not store.finding.repairable]
    for next_step in dict.fromkeys(finding.next for finding in findings):
        yield blocks.Paragraph(next_step)


def _notes(notes: Sequence[Finding]) -> Iterator[str]:
    """One line for each code. If a title says that something is broken, the line adds that nothing is broken now."""
    for code, code_notes in blocks.grouped(notes, lambda note: note.code).items():
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
        yield f"srfix skipped more checks that could hide a finding, for {more}; --details lists them"
    harmless_count = len(diagnosis.not_looked_at) - len(hiding)
    if harmless_count and (hiding or not diagnosis.has_findings):  # otherwise the verdict says it
        kind = "other skipped check" if hiding else "skipped check"
        yield f"{counted(harmless_count, kind)} cannot hide a finding"
