"""Stores that are known from a state directory, a topology or ksqlDB, whether or not they left a phantom subject.

A restore before any put leaves no subject at all (40401): nothing in the registry would point to the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.table_sources import table_sources
from srfix.recovery.findings import Skipped, Weight
from srfix.serde.subjects.names import Subject

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState, StoreOnDisk


def supplied_stores(survey: Survey) -> Iterator[SuspectStore]:
    """Stores without a changelog topic that restore, or may restore, from a source topic.

    Not those that have a changelog of their own, lie in segments (window and session stores), or of which a checkpoint
    says that they restore from nowhere (logging disabled).
    """
    from srfix.recovery.state.directory import StoreKind

    topics = survey.topics()
    for store_on_disk in survey.supplied.stores_on_disk():
        if store_on_disk.kind is StoreKind.SEGMENTED or store_on_disk.own_changelog is not None:
            continue
        suspect = SuspectStore(application=store_on_disk.prefix, name=store_on_disk.name)
        if (store_on_disk.sources or store_on_disk.is_silent) and suspect.changelog not in topics:
            yield suspect
    for application in survey.supplied.applications:
        for topology, table in survey.supplied.tables(application):
            suspect = SuspectStore(application=application, name=table.store)
            certain = topology.application == application and table.weight is not Weight.WEAK
            if certain and table.topic in topics and suspect.changelog not in topics:
                yield suspect


def supplied_skips(survey: Survey, *, application: str | None, found: frozenset[str]) -> Iterator[Skipped]:
    """What could not be read of the things that were handed over, and what was found in them and not followed.

    :param application: the application that is examined; None for all.
    :param found: the names of the stores that are examined anyway.
    """
    for state in survey.supplied.state:
        if application is None or state.application == application:
            yield from _of_state_directory(state, survey)
        else:
            yield Skipped(
                what=f"the state directory {state.path}",
                reason=f"it is that of application {state.application!r}, not of {application!r}; if it is a copy "
                "under another name, name the copy's folder after the application.id",
                could_hide=False,
            )
    for shut in survey.supplied.shut:
        if application in (None, Path(shut.path).name):
            yield Skipped(what=shut.path, reason=shut.reason, could_hide=True)
    for disk in survey.supplied.stores_on_disk():
        if application is None or disk.prefix == application:
            yield from _lost(disk, survey)
    on_disk = {disk.name for disk in survey.supplied.stores_on_disk()}
    for topology in survey.supplied.topologies:
        unknown = sorted({table.store for table in table_sources(topology.topology)} - found - on_disk)
        if topology.application is None and unknown:
            yield Skipped(
                what=f"{'store' if len(unknown) == 1 else 'stores'} {', '.join(unknown)} in {topology.origin}",
                reason="the printed topology does not say whose it is, and no subject or group points to them; name "
                "the application with --application",
                could_hide=True,
            )
        missing = sorted({t.topic for t in table_sources(topology.topology)}.difference(survey.topics()))
        if missing:
            yield _not_on_this_cluster(topology.origin, ", ".join(missing))
    for answers in survey.supplied.ksqldb:
        for problem in answers.problems:
            yield Skipped(what=f"ksqlDB ({answers.origin})", reason=problem, could_hide=True)


def _of_state_directory(state: ApplicationState, survey: Survey) -> Iterator[Skipped]:
    for problem in state.problems:
        # The stores are known from the directories' names; one without evidence is skipped on its own account.
        yield Skipped(what=problem.path, reason=problem.reason, could_hide=False)
    bare = [task.name for task in state.without_checkpoint() if task.checkpoint is None]
    if bare and not (state.is_in_use and state.traces.has_offsets_column_families):
        yield Skipped(
            what=f"the checkpoint of {'task' if len(bare) == 1 else 'tasks'} {', '.join(bare)} in {state.path}",
            reason="there is none, which proves nothing: Streams 2.6.0 to 2.6.3 delete it after loading it, so a "
            "thread that died before its first commit leaves none and restores its whole store at the next start, with "
            "nobody wiping anything",
            could_hide=False,
        )


def _lost(store_on_disk: StoreOnDisk, survey: Survey) -> Iterator[Skipped]:
    own = store_on_disk.own_changelog
    subjects = SuspectStore(application=store_on_disk.prefix, name=store_on_disk.name).subjects
    if own is not None and own not in survey.topics():
        yield Skipped(
            what=f"store {store_on_disk.name} of application {store_on_disk.prefix}",
            reason=f"its checkpoint names a changelog topic of its own, {own}, and there is no such topic: it was "
            "deleted, or this is another cluster. It is not a store that restores from a source topic",
            could_hide=False,
            subjects=subjects,
        )
    missing = sorted({source.topic for source in store_on_disk.sources}.difference(survey.topics()))
    if missing:
        yield _not_on_this_cluster(f"the checkpoint of store {store_on_disk.name}", ", ".join(missing), subjects)


def _not_on_this_cluster(what: str, topics: str, subjects: tuple[Subject, ...] = ()) -> Skipped:
    return Skipped(
        what=f"{topics}, named by {what}",
        reason="there is no such topic on this cluster; check --bootstrap-servers, and that both are of one environment",
        could_hide=True,
        subjects=subjects,
    )
