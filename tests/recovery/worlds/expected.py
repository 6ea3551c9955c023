"""Which findings the true source of a store calls for, and which it forbids: row by row, from the rules alone.

The rules are those under "Findings" in the architecture. If they leave a choice, nothing is expected and nothing is
forbidden. The registry's answers are certain only for the plain case in the default context; they are asked, never
guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from srfix.recovery.findings import Severity
from tests.recovery.worlds.expectation import OF_MISSING, Expectation
from tests.recovery.worlds.expected_relatives import of_relatives
from tests.recovery.worlds.restoring import Row, failures_on_disk, id_of, ids_in_log, live_rows, look_up
from tests.recovery.worlds.schemas import LOST
from tests.recovery.worlds.seen import (
    asks_source,
    is_known_global,
    is_named,
    is_shown_newer,
    is_untold,
    on_disk,
    row_ids,
)
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import GUID, UNFRAMED, WHOLE, Kind, Record, SubjectSetup, TrueStore

ROLES = ("key", "value")


def expectations(staged: StagedWorld, store: TrueStore) -> Iterator[Expectation]:
    """All that is certain of a store before any repair."""
    rows, is_renewed = live_rows(staged, store), store.application in staged.world.renewed
    # If a registry does not find soft-deleted versions, the reader cannot get the ids of rows that no restore brings.
    is_hidden = bool(staged.world.registry) and bool(failures_on_disk(staged, store))
    for role in ROLES:
        subject = staged.world.table_subject(store, role)
        live = _live_ids(staged, rows, role)
        asked = {n: look_up(staged, staged.qualified(subject), n) for n in _known(ids_in_log(staged, store, role))}
        missing = {n: count for n, count in live.items() if asked.get(n) is not None}
        sound = frozenset(n for n, code in asked.items() if code is None)
        if missing:
            yield from _missing(staged, store, role, missing, sound)
        elif all(code is None for code in asked.values()) and not is_hidden:
            for code in OF_MISSING:
                yield Expectation(code, role, False, "every id of the log is registered under the phantom subject")
        in_log = ids_in_log(staged, store, role)
        is_all = all(code is None for code in asked.values())
        if (
            role == "value"
            and live
            and not missing
            and not is_hidden
            and is_all
            and _known(in_log) == in_log
            and not is_renewed
        ):
            yield Expectation("SRF003", role, True, "all live ids are registered under the phantom subject")
        elif role == "value" and missing:
            yield Expectation("SRF003", role, False, "live ids are missing")
        yield from _lost(role, live, ids_in_log(staged, store, role))
        yield from _undecodable(staged, store, role, rows)
    yield from _under_the_source(staged, store, rows)
    yield from _differing_keys(staged, store, rows)
    yield from _not_compacted(staged, store, rows)
    yield from of_relatives(staged, store, rows)


def _missing(
    staged: StagedWorld, store: TrueStore, role: str, missing: dict[int, int], sound: frozenset[int]
) -> Iterator[Expectation]:
    """SRF001, SRF002 or SRF006: a global store and the rows on disk decide which."""
    world, why = staged.world, "the reader gets 404 for live rows"
    codes = ["SRF001"]
    if asks_source(world, store) is not False and world.table_subject(store, role) not in world.subjects:
        return  # nobody asks that subject, and nobody ever did: no finding, or a note
    if store.application in world.renewed:
        for code in OF_MISSING if is_shown_newer(world, store) else ():
            for severity in (Severity.BROKEN, Severity.BREAKS_ON_RESTORE):
                yield Expectation(code, role, False, "2.7 or later runs, as is seen", severity=severity)
        return  # if no sign of it is seen, an older version leaves the same
    if store.kind is Kind.GLOBAL and not world.is_upgraded:
        is_told = is_known_global(world, store) and not is_shown_newer(world, store)
        codes = ["SRF006"] if is_told else ["SRF001", "SRF006"]
    if not world.is_upgraded and not is_shown_newer(world, store):
        for code in OF_MISSING:
            yield Expectation(code, role, False, "nothing shows 2.7 or later", severity=Severity.NOTE)
    if is_untold(world, store):
        if is_named(world, store):
            return  # a person has a reason to name it
        for code in OF_MISSING:
            yield Expectation(code, role, False, "nothing shows that a subject is asked which does not exist")
        return
    seen = on_disk(world, store)
    if seen is not None and seen.is_whole is not False and not row_ids(staged, seen, role) & missing.keys():
        subject = staged.qualified(world.table_subject(store, role))
        known = row_ids(staged, seen, role) - set(LOST.values())
        unread = {n for n in known if look_up(staged, subject, n) is not None}
        is_certain = (
            seen.is_whole and not unread and store.kind is not Kind.GLOBAL and asks_source(world, store) is False
        )
        # Rows under an id that nobody looks up there are broken now.
        codes = ["SRF002"] if is_certain else [*codes, "SRF002"] if unread else ["SRF002", *codes]
    yield Expectation(codes[0], role, True, why, missing, sound, or_else=tuple(codes[1:]))
    for code in OF_MISSING:
        if code not in codes:
            yield Expectation(code, role, False, f"it is {' or '.join(codes)}")


def _live_ids(staged: StagedWorld, rows: list[Row], role: str) -> Counter[int]:
    return Counter(found for row in rows if (found := id_of(staged, row.record, role)) is not None)


def _known(ids: object) -> set[int]:
    assert isinstance(ids, (set, dict))
    return set(ids) - set(LOST.values())


def _lost(role: str, live: Counter[int], in_log: set[int]) -> Iterator[Expectation]:
    lost = {n: count for n, count in live.items() if n in LOST.values()}
    if lost:
        yield Expectation("SRF011", role, True, "the registry does not know the id", lost)
    elif not in_log & set(LOST.values()):
        yield Expectation("SRF011", role, False, "the registry knows every id")


def _undecodable(staged: StagedWorld, store: TrueStore, role: str, rows: list[Row]) -> Iterator[Expectation]:
    """SRF013. A role uses a registry serde if the store has a subject for it."""
    is_framed_role = staged.world.table_subject(store, role) in staged.world.subjects
    bad = [row for row in rows if _is_bad(row.record, role)]
    if not bad:
        yield Expectation("SRF013", role, False, "every live row is what its writer wrote")
    elif is_framed_role and any(row.record.value == UNFRAMED for row in bad) and role == "value":
        yield Expectation("SRF013", role, True, "live values are not framed")
    elif is_framed_role and staged.world.decode_values and any(not _is_whole(row.record, role) for row in bad):
        yield Expectation("SRF013", role, True, "live rows do not decode")


def _is_bad(record: Record, role: str) -> bool:
    if role == "key":
        return not _is_whole(record, role)
    return not _is_whole(record, role) or record.value in (UNFRAMED, GUID, *LOST)


def _is_whole(record: Record, role: str) -> bool:
    return record.key is None or record.key.body == WHOLE if role == "key" else record.body == WHOLE


def _under_the_source(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF017: live ids that `<source>-value` lacks, too."""
    source = staged.qualified(f"{store.topic}-value")
    known = _known(_live_ids(staged, rows, "value"))
    elsewhere = {n for n in known if look_up(staged, source, n) is not None}
    live = _live_ids(staged, rows, "value")
    if elsewhere:
        yield Expectation(
            "SRF017", "value", True, "live ids are not under the source's own subject", {n: live[n] for n in elsewhere}
        )
    elif all(look_up(staged, source, n) is None for n in _known(ids_in_log(staged, store, "value"))):
        yield Expectation("SRF017", "value", False, "every id of the log is under the source's own subject")


def _differing_keys(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF005: the reader writes keys with the one id that its key subject holds."""
    seen, live = on_disk(staged.world, store), _live_ids(staged, rows, "key")
    held = staged.world.subjects.get(f"{store.topic}-key", SubjectSetup(())).versions
    setup = staged.world.topics[store.topic or ""]
    is_whole = setup.policy == "compact" or not any(
        log.start for log in setup.logs
    )  # else a record may have had the id
    if asks_source(staged.world, store) and seen is not None and len(held) > 1 and len(live) == 1 and is_whole:
        # 2.7 and later writes under the source's own key subject, which holds the producers' schema and its own.
        own = row_ids(staged, seen, "key") - ids_in_log(staged, store, "key")
        if own & {staged.ids[version.schema] for version in held if not version.deleted}:
            yield Expectation("SRF005", "key", True, "rows on disk carry another id than all live keys")
    subject = staged.world.subjects.get(staged.world.table_subject(store, "key"))
    if subject is None or not subject.versions:
        return
    carried = {n: count for n, count in _live_ids(staged, rows, "key").items() if n not in LOST.values()}
    if len(carried) > 1 and len(subject.versions) > 1:
        yield Expectation("SRF005", "key", True, "the reader writes one id, and live keys carry several")
    if len(subject.versions) != 1:
        return
    written = staged.ids[subject.versions[0].schema]
    others = {n: count for n, count in live.items() if n != written and n not in LOST.values()}
    if others and not subject.versions[0].deleted:
        yield Expectation("SRF005", "key", True, f"the reader writes keys with id {written}", others)
    elif _known(ids_in_log(staged, store, "key")) <= {written}:
        yield Expectation("SRF005", "key", False, "all keys carry the id that the reader writes")


def _not_compacted(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF018: `compact,delete` and `delete` without limits are left open."""
    policy = staged.world.topics[store.topic or ""].policy
    if policy == "compact":
        yield Expectation("SRF018", "value", False, "the source topic is compacted")
    elif policy == "delete" and store.kind is Kind.TABLE and rows:
        yield Expectation("SRF018", "value", True, "the source topic is not compacted")
