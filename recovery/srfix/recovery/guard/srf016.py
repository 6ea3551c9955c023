"""SRF016: from 2.7 on an application's own schema goes under the user's own subject."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.checks.srf016 import where_refused
from srfix.recovery.facts.reader import Reader
from srfix.recovery.facts.survey import schema_behind
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import RoleKnown
from srfix.recovery.guard.models import Certainty, Foretold, Moment, StoreKind, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.recovery.guard.own_schemas import has_nothing_of_its_own
from srfix.recovery.guard.srf020 import in_words
from srfix.recovery.guard.taking import refusal_of_id
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId

CODE: Final = "SRF016"


def source_refuses(judged: JudgedStore, role: Role, crosses: Certainty) -> Iterator[Foretold]:
    """Whether the source topic's subject takes it.

    :param crosses: whether the change is one from the phantom subject to the source topic's own.
    """
    store, known = judged.store, judged.known(role)
    subject = store.source_subject(role)
    if judged.reader is Reader.DUAL or has_nothing_of_its_own(known, role):
        return
    own = () if known is None else known.own
    refused, is_known = (None, False) if known is None else _refused(judged, role, known)
    breaks = refused is not None
    what = f"the application's own schema ({named_ids(own)})" if own else "the application's own schema"
    if not own:
        then = "where the subject's compatibility level is against it, the registry refuses it (409) and the put fails"
    elif breaks:
        then = f"the registry will refuse it ({refused}), and the first put fails, if the application still writes that schema"
    elif not is_known:
        then = "whether the registry takes it cannot be told; if not (409), the first put fails"
    else:
        then = "the registry will take it: it becomes the latest version there, which no record of the topic uses"
        then += _for_latest(judged, role, known)
    yield judged.foretold(
        CODE,
        role,
        severity=Severity.BREAKS_ON_UPGRADE if breaks else Severity.NOTE,
        certainty=crosses if own else weakest((crosses, Certainty.POSSIBLE)),
        moment=Moment.UPGRADE,
        subject=subject,
        schema_ids=own,
        explanation=f"Kafka Streams {judged.assumed.to} registers {what} under {subject}: {then}.",
        first=(where_refused(subject, is_global=store.kind is StoreKind.GLOBAL),) if breaks else (),
    )


def _for_latest(judged: JudgedStore, role: Role, known: RoleKnown | None) -> str:
    """What readers that take the latest version make of the records then, as the rest of a sentence."""
    newest = None if known is None else _newest(known)
    if known is None or newest is None or judged.sight.registry is None:
        return ""
    subject = judged.store.source_subject(role)
    schema = schema_behind(judged.sight.registry, newest, judged.sight.context_of(subject))
    found = in_words(schema, subject, known.ids, judged.sight)
    return "" if found is None else f"; {found[1].removesuffix('.')}"


def _newest(known: RoleKnown) -> SchemaId | None:
    found = max((v for v in known.phantom.versions if v.schema_id in known.own), default=None)
    return None if found is None else found.schema_id


def _refused(judged: JudgedStore, role: Role, known: RoleKnown) -> tuple[str | None, bool]:
    """Why the source topic's subject would refuse the newest of the application's own schemas, None if it would take it;
    and whether that is known.
    """
    newest = _newest(known)
    if newest is None:
        return None, False
    return refusal_of_id(judged.sight, known.source, role, newest)
