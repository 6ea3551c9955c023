"""Finds the smallest world that still breaks a property: it removes one thing after the other, as long as the property
breaks.

Hypothesis's own shrinking takes minutes for worlds of this size; this takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Final, TypeVar

from tests.recovery.worlds.world import Group, Log, TopicSetup, World

_TRIES: Final = 400

V = TypeVar("V")

_TAKEN_APART: Final = {"disk", "joins", "gone", "by_design", "renewed"}
"""Fields that are removed part by part, together with other fields, or not at all."""


def smallest(world: World, breaks: Callable[[World], bool], *, tries: int = _TRIES) -> World:
    """The world without parts that are not needed to break the property; at most `tries` other worlds are tried."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for other in _smaller(world):
            tries -= 1
            if tries < 0:
                return world
            if breaks(other):
                world, is_smaller = other, True
                break
    return world


def _smaller(world: World) -> Iterator[World]:
    """Worlds with one thing less, the biggest things first."""
    for join in world.joins:
        topics = {name: setup for name, setup in world.topics.items() if not name.startswith(join.registration)}
        yield replace(
            _without_subjects(world, join.subjects),
            topics=topics,
            joins=tuple(other for other in world.joins if other != join),
        )
    for application, left in world.gone.items():
        yield replace(_without_subjects(world, left), gone={}, says_gone=())
        for subject in left if len(left) > 1 else ():
            rest = tuple(other for other in left if other != subject)
            yield replace(_without_subjects(world, (subject,)), gone={application: rest})
    kept = {subject for join in world.joins for subject in join.subjects}
    kept |= {subject for left in world.gone.values() for subject in left}
    for subjects in _without_one(world.subjects):
        if not kept - subjects.keys():
            yield replace(world, subjects=subjects, by_design=tuple(s for s in world.by_design if s in subjects))
    for at, store in enumerate(world.truth):
        others = world.truth[:at] + world.truth[at + 1 :]
        is_named = bool({store.name, f"{store.application}/{store.name}"} & set(world.sources))
        if not is_named and not any(subject.startswith(f"{store.changelog}-") for subject in world.subjects):
            yield replace(world, truth=others)
    for topics in _without_one(world.topics):
        gone = set(world.topics) - set(topics)
        if not any(store.topic in gone for store in world.truth):
            yield replace(world, topics=topics, groups=_uncommitted(world, gone))
    for groups in _without_one(world.groups):
        yield replace(world, groups=groups)
    yield from _less_said(world)
    for name, setup in world.topics.items():
        for logs in _fewer_records(setup):
            yield replace(world, topics={**world.topics, name: replace(setup, logs=logs)})
    for subject, held in world.subjects.items():
        for at in range(len(held.versions) if len(held.versions) > 1 else 0):
            fewer = replace(held, versions=held.versions[:at] + held.versions[at + 1 :])
            yield replace(world, subjects={**world.subjects, subject: fewer})
        plain = replace(held, level=None, mode=None, normalize=False)
        if plain != held:
            yield replace(world, subjects={**world.subjects, subject: plain})


def _without_subjects(world: World, gone: Iterable[str]) -> World:
    subjects = {subject: held for subject, held in world.subjects.items() if subject not in gone}
    return replace(world, subjects=subjects, by_design=tuple(s for s in world.by_design if s in subjects))


def _less_said(world: World) -> Iterator[World]:
    plain = World(topics=world.topics, groups=world.groups, subjects=world.subjects, truth=world.truth)
    for disk in _without_one(world.disk):
        yield replace(world, disk=disk)
    for store, found in world.disk.items():
        for partition, rows in found.partitions.items():
            for at in range(len(rows)):
                less = replace(found, partitions={**found.partitions, partition: rows[:at] + rows[at + 1 :]})
                yield replace(world, disk={**world.disk, store: less})
    for name in (field.name for field in fields(World) if field.name not in _TAKEN_APART):
        if getattr(world, name) != getattr(plain, name):
            yield replace(world, **{name: getattr(plain, name)})


def _fewer_records(setup: TopicSetup) -> Iterator[tuple[Log, ...]]:
    for partition, log in enumerate(setup.logs):
        for at in range(len(log.records)):
            fewer = replace(log, records=log.records[:at] + log.records[at + 1 :])
            yield (*setup.logs[:partition], fewer, *setup.logs[partition + 1 :])


def _without_one(things: Mapping[str, V]) -> Iterator[dict[str, V]]:
    for name in things:
        yield {other: thing for other, thing in things.items() if other != name}


def _uncommitted(world: World, topics: set[str]) -> dict[str, Group]:
    return {
        name: replace(group, commits={at: offset for at, offset in group.commits.items() if at[0] not in topics})
        for name, group in world.groups.items()
    }
