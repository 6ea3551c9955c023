"""SRF001 and, of a global store, SRF006: a restore brings ids that the phantom subject lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import RoleKnown
from srfix.recovery.guard.models import Certainty, Foretold, Moment, StoreKind, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.recovery.guard.srf006 import CODE as OF_GLOBAL_STORES
from srfix.recovery.guard.steps import plan_of_phantom
from srfix.serde.subjects.names import Role

CODE: Final = "SRF001"


def code_of(kind: StoreKind) -> str:
    """What the catalogue calls it in a store of this kind."""
    return OF_GLOBAL_STORES if kind is StoreKind.GLOBAL else CODE


def phantom_lacks(judged: JudgedStore, role: Role, asks: Certainty, moment: Moment) -> Iterator[Foretold]:
    """What a restore, or the change to a version that asks the phantom again, brings about.

    :param asks: whether the phantom subject is asked at all.
    """
    store, known = judged.store, judged.known(role)
    if asks is Certainty.EXCLUDED or (known is not None and not known.missing and (known.ids or role is Role.KEY)):
        return
    subject = store.changelog_subject(role)
    needless = judged.does_without(subject)
    certainty = weakest((asks, judged.looks_versions_up, _evidence(known, role)))
    ids = () if known is None else known.missing
    breaks = Severity.BREAKS_ON_UPGRADE if moment is Moment.UPGRADE else Severity.BREAKS_ON_RESTORE
    yield judged.foretold(
        code_of(store.kind),
        role,
        severity=Severity.NOTE if needless else breaks,
        certainty=certainty,
        moment=moment,
        subject=subject,
        schema_ids=ids,
        explanation=" ".join(_of_phantom(judged, role, known, needless=needless, moment=moment)),
        first=() if needless else tuple(plan_of_phantom(judged, is_known=known is not None)),
    )


def _evidence(known: RoleKnown | None, role: Role) -> Certainty:
    """How far registry and topic show that ids are restored that the phantom subject lacks, and goes on lacking.

    A serde that writes the producers' schema again registers it there by itself. That this one does not is shown by a schema
    of its own under the phantom, beside ids that records below the committed offsets carry and it lacks.
    """
    if known is None or not known.own or role is Role.KEY:
        return Certainty.POSSIBLE
    return Certainty.CERTAIN if set(known.missing) & set(known.live) else Certainty.POSSIBLE


def _of_phantom(
    judged: JudgedStore, role: Role, known: RoleKnown | None, *, needless: bool, moment: Moment
) -> Iterator[str]:
    store, subject = judged.store, judged.store.changelog_subject(role)
    what = "global store" if store.kind is StoreKind.GLOBAL else "store"
    yield f"A restore loads the records of topic {store.topic} as they are into {what} {store.name}."
    if moment is Moment.UPGRADE:
        yield f"Kafka Streams {judged.assumed.to} asks {subject} for their schemas, and for those of the rows that are kept."
    else:
        yield f"Its serdes ask {subject} for their schemas."
    if known is None:
        yield "Only what the application writes is registered there: not the producers' schemas, unless it writes those."
    elif known.missing:
        held = known.phantom.schema_ids
        does = f"holds {named_ids(held)}, but not" if held else "does not exist yet; the records carry"
        yield f"{subject} {does} {named_ids(known.missing)}."
    if needless:
        yield f"A {judged.reader.value} reader does not need that version, so nothing fails."
        return
    if judged.looks_versions_up is not Certainty.CERTAIN:
        yield "If the reader looks the version up there, as Connect's converters and ksqlDB do, those rows cannot be read."
    else:
        yield "Those rows cannot be read."
    if judged.asks_the_phantom(judged.running) is Certainty.UNTOLD and moment is Moment.RESTORE:
        yield _what_decides(judged)


def _what_decides(judged: JudgedStore) -> str:
    missing = []
    if judged.running is None and not judged.store.is_ksqldb:
        missing.append("the version (--streams-version; from 2.7 on the source topic's subject is asked)")
    if len(judged.wirings(judged.running)) > 1:
        missing.append("whether the source topic is reused (--optimization)")
    return f"What decides it was not said: {' and '.join(missing)}."
