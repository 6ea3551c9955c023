"""What shows that nothing is ever restored into a store: a state directory, or a printed topology.

Not the store's name, and not that its changelog does not exist: a table on Kafka Streams 2.6.3 or older that reuses its
source topic looks the same on cluster and registry.
"""

from __future__ import annotations

from srfix.recovery.facts import Survey, SuspectStore
from srfix.serde.errors import ClusterError


def shown_to_restore_nothing(survey: Survey, suspect: SuspectStore) -> str | None:
    """What shows it, in a clause; None if nothing does, or if the person names the topic that it restores from."""
    if survey.named_source(suspect) is not None:
        return None
    if _has_nothing_on_disk(survey, suspect):
        return "its state directory says that nothing is restored into it"
    supplied, application = survey.supplied, suspect.application
    tables = {table.store for _given, table in supplied.tables(application)}
    if suspect.name in supplied.stores_of_topologies(application) and suspect.name not in tables:
        return "the printed topology shows that it is not the table of one topic, so no source topic can serve as its changelog"
    return None


def is_alive(survey: Survey, application: str) -> bool:
    """True if the application has members, or has read on from where its topics start.

    One that was reset has offsets too, at the starts, and no internal topics until it runs again (`StreamsResetter`).

    :raises AccessDeniedError: if this user may not ask about the group.
    :raises ClusterError: if the broker does not answer.
    """
    if survey.group_state(application).members:
        return True
    commits = survey.commits(application)
    for topic in {topic for topic, _partition in commits}:
        offsets = {partition: offset for (of, partition), offset in commits.items() if of == topic}
        try:
            starts = {p: start for p, (start, _end) in survey.cluster.watermarks(topic, sorted(offsets)).items()}
        except ClusterError:  # it may not be asked about, or is gone
            starts = {}
        if any(offset > starts.get(partition, 0) for partition, offset in offsets.items()):
            return True
    return False


def _has_nothing_on_disk(survey: Survey, suspect: SuspectStore) -> bool:
    """True if a state directory shows it, and none shows anything that it restores from."""
    found = [
        on_disk
        for on_disk in survey.supplied.stores_on_disk()
        if (on_disk.prefix, on_disk.name) == (suspect.application, suspect.name)
    ]
    return any(on_disk.restores_from_nowhere for on_disk in found) and not any(on_disk.sources for on_disk in found)
