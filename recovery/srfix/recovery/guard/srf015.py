"""SRF015: the next put is refused, for what it writes is not registered and cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.checks.puts import why_none_registers
from srfix.recovery.facts.reader import CheckContext, Reader, StreamsVersion
from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import RoleKnown
from srfix.recovery.guard.models import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError
from srfix.serde.subjects.names import Role

CODE: Final = "SRF015"


def refuses_puts(judged: JudgedStore, role: Role, version: StreamsVersion | None, moment: Moment) -> Iterator[Foretold]:
    """What the subject that its serde writes to takes: the phantom one, or from 2.7 on the source topic's own.

    :param version: the Kafka Streams that puts.
    """
    known = judged.known(role)
    if known is None or judged.sight.registry is None:
        return
    asked = (
        (judged.asks_the_phantom(version), known.phantom),
        (judged.asks_the_source(version), known.source),
    )
    for writes, state in asked:
        if writes is Certainty.EXCLUDED or (state is known.source and judged.reader is Reader.DUAL):
            continue  # a dual-subject reader writes under the changelog's name on every version
        if state.live and not (state is known.source and known.own):
            continue  # it may hold what the application writes
        why = _why_none(judged, state)
        if why is not None:
            yield _foretold(judged, role, known, state, writes, why, moment)


def _why_none(judged: JudgedStore, state: SubjectState) -> str | None:
    sight, assumed = judged.sight, judged.assumed
    assert sight.registry is not None
    context = CheckContext(registry=sight.registry, no_auto_register=assumed.no_auto_register, given=assumed.given)
    try:
        # A mode may be set for a subject that does not exist yet.
        own = state.mode if state.versions or assumed.no_auto_register else sight.registry.mode(state.subject)
        return why_none_registers(state.subject, own, context)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        sight.skip(
            Skipped(
                what=f"whether {state.subject} may be written to (SRF015)",
                reason=f"the registry does not tell its mode (HTTP {error.status})",
                could_hide=False,
                subjects=(state.subject,),
            )
        )
        return None


def _foretold(
    judged: JudgedStore,
    role: Role,
    known: RoleKnown,
    state: SubjectState,
    writes: Certainty,
    why: str,
    moment: Moment,
) -> Foretold:
    store, own = judged.store, known.own if state is known.source else ()
    is_told = judged.assumed.reader is not Reader.UNKNOWN or bool(known.own)
    if state.live:  # what it lacks is what the application writes if it is what it wrote last
        last = max(known.phantom.live, key=lambda version: version.version, default=None)
        is_told = last is not None and last.schema_id in known.own
    lacks = f"lacks {named_ids(own)}, the application's own" if own else "has no live version"
    return judged.foretold(
        CODE,
        role,
        severity=Severity.BROKEN,
        certainty=weakest((writes, Certainty.CERTAIN if is_told else Certainty.POSSIBLE)),
        moment=moment,
        subject=state.subject,
        schema_ids=own,
        explanation=f"The {role.value} serde of store {store.name} writes under {state.subject}, which {lacks}, and {why}: the "
        "next put fails, and its stream thread ends.",
        first=(f"Have the schema that the application writes registered under {state.subject} before it runs.",),
    )
