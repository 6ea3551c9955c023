"""Whether the application's next put goes through, where its serde writes under the source's own subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.checks.srf004 import CODE as UPGRADE
from srfix.recovery.facts.internal_schemas import latest_own
from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Event, NotLookedAt, Problem
from srfix.recovery.repair.verify.keys import store_of
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError
from srfix.serde.wire import SchemaId


def next_put(
    finding: PlannedFinding, before: SubjectState, carried: Iterable[SchemaId], registry: ReadableRegistry
) -> Iterator[Event]:
    """A put that the registry would refuse (SRF016): from Kafka Streams 2.7 on it registers the application's own schema under
    the source's own subject. Rows can be read then, and the stream thread dies at the first that it writes.

    :param before: what stood under the source's own subject when the plan was made.
    :param carried: the ids that records of the topic carry.
    :raises RegistryError: if the registry does not answer.
    """
    store = store_of(finding)
    phantom = store.subject(finding.role)
    # Nothing else is found of 2.7 or later alone. ksqlDB goes on writing under the changelog's name (`StaticTopicSerde`).
    if finding.code != UPGRADE or ksqldb_query(store.application) is not None:
        return
    copies = {*carried, *before.schema_ids}
    own = latest_own(v for v in read_subject_state(registry, phantom).versions if v.schema_id not in copies)
    live = read_subject_state(registry, finding.subject).live
    if own is None or own.schema_id in {version.schema_id for version in live}:
        return
    what = f"the next put of store {store.name}, which registers schema id {own.schema_id}, the application's own, here"
    schema = registry.version(phantom, own.version, deleted=True).schema
    try:
        check = registry.check_compatibility(finding.subject, schema)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        yield NotLookedAt(subject=finding.subject, what=f"{what}: the registry answers no compatibility check")
        return
    if not check.is_compatible:
        why = f" ({'; '.join(check.messages)})" if check.messages else ""
        yield Problem(
            subject=finding.subject,
            what=f"{what}, is refused with 409{why}: its rows can be read, and its stream thread dies at the first row that it "
            "writes (srfix explain SRF016). Do not start it on Kafka Streams 2.7 or later before that is mended",
        )
