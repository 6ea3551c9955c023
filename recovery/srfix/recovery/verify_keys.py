"""Whether look-ups by key meet the rows that a repair made readable: no registration mends it where they do not (SRF005)."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.census.interface import Census
from srfix.recovery.checks._counting import listed, restorable_ids
from srfix.recovery.key_asymmetry import asymmetry
from srfix.recovery.plan_file import PlannedFinding
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.verify_events import Problem
from srfix.serde.registry import RegistryClient
from srfix.serde.subjects import ChangelogSubject, Role, subject_for, within_context_of

__all__ = ["keys_missed"]


def keys_missed(finding: PlannedFinding, census: Census, registry: RegistryClient) -> Iterator[Problem]:
    """A problem where the reader writes keys under another id than the topic's live keys carry.

    :raises RegistryError: if the registry does not answer.
    """
    carried = restorable_ids(census, Role.KEY)
    if not carried:
        return
    store = ChangelogSubject(application=finding.application, store=finding.store)
    phantom = read_subject_state(registry, within_context_of(finding.subject, store("", Role.KEY)))
    source = within_context_of(finding.subject, subject_for(finding.source_topic, Role.KEY))
    found = asymmetry(carried, phantom, read_subject_state(registry, source).schema_ids)
    if found is not None:
        yield Problem(
            subject=phantom.subject,
            what=f"store {finding.store} looks keys up under schema id {found.reader_id}, and the live keys of topic "
            f"{census.topic} carry schema id {listed(found.topic_ids)}: its rows can be read, but a look-up by key misses them "
            "without an error, and the next update of a key makes a second row. No registration mends that (srfix explain "
            "SRF005)",
            keys_miss=True,
        )
