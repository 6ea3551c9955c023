"""Whether a group is a Kafka Streams application: files and names that a person gave, and signs that Kafka Streams
leaves.

| sign | where |
|---|---|
| base64 with magic byte 1 or 2 beside a committed offset | `TopicPartitionMetadata`, 2.4 and later; a dead group keeps it |
| assignor `stream` | a running application |
| client id `…-StreamThread-<n>-consumer` | a running application |
| internal topics with a generated number, repartition and subscription topics | whose names begin with the group's |

Kafka Streams up to 2.3 writes nothing beside the offsets, so such an application looks like a plain consumer when it is
stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Final

from srfix.recovery.advice.hints import from_commit_metadata
from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.evidence import rules
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.internal_topics import InternalTopicKind, ksqldb_query, parse, recognise
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

_STREAM_THREAD: Final = re.compile(r".+-StreamThread-\d+(?:-.+)?", re.DOTALL)
_NUMBERED: Final = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-.+-\d{10}(?:-store|-topic)?", re.DOTALL)
_STREAMS_ASSIGNOR: Final = "stream"


class Applications:
    """Which names belong to applications. Each is asked once; one by one if the cluster does not list all of its groups."""

    def __init__(self, survey: Survey, listing: GroupListing, supplied_names: Iterable[str]) -> None:
        self._survey = survey
        self.listed = frozenset(listing.groups)
        self.is_listed_whole = listing.problem is None
        self._supplied = dict.fromkeys(supplied_names, "named by the person")
        for name in survey.supplied.applications:
            self._supplied.setdefault(name, "named by what you gave: a state directory, a topology or ksqlDB")
        self._evidence: dict[str, tuple[Evidence, ...]] = {}
        self.refused: dict[str, ClusterError] = {}
        """The groups whose offsets this user may not ask for, and why."""

    def evidence(self, name: str) -> tuple[Evidence, ...]:
        if name not in self._evidence:
            self._evidence[name] = tuple(self._gather(name))
        return self._evidence[name]

    def is_group(self, name: str) -> bool:
        """True if the group is listed, or has committed offsets, or (where groups are not listed) members."""
        return (
            name in self.listed
            or bool(self._commits(name))
            or (not self.is_listed_whole and bool(self._survey.group_state(name).members))
        )

    def others_read(self, topic: Topic, name: str) -> bool:
        """True if another application has committed offsets on a topic, or may have read it without."""
        other_groups = self.listed - {name}
        self._survey.ask_commits(sorted(other_groups))
        reading = [other for other in other_groups if not self._commits(other) or self.has_read(other, topic)]
        unknown = not self.is_listed_whole or not other_groups.isdisjoint(self.refused)
        return unknown or any(not sign.against for other in reading for sign in self.evidence(other))

    def has_read(self, name: str, topic: Topic) -> bool:
        return any(read == topic for read, _partition in self._survey.commits(name))

    def commits_as_streams(self, name: str) -> bool:
        """True if the metadata beside a group's offsets is of Kafka Streams (2.4 and later); asks nothing else."""
        generation = from_commit_metadata(self._survey.commit_metadata(name).values())
        return generation is not None and generation.oldest is not None

    def has_signs(self, name: str, changelog: Topic) -> bool:
        return any(not piece.against for piece in (*self.evidence(name), *self.of_name(changelog, name)))

    def is_plain(self, name: str) -> bool:
        return any(piece.kind == rules.PLAIN_GROUP.kind for piece in self.evidence(name))

    def of_name(self, changelog: Topic, name: str) -> Iterator[Evidence]:
        """A changelog's name for and against an application: a ksqlDB query's id, an internal topic's same name."""
        query = ksqldb_query(changelog)
        if query is not None and query.application != name:
            yield rules.OTHER_QUERY.of_application(name, f"the name is that of ksqlDB's query {query.query_id}")
        if self.evidence(name) or not self.is_group(name):
            return
        internal = self._internal_topic(name, changelog)
        if internal is not None:
            yield rules.INTERNAL_TOPICS.of_application(name, f"group {name} exists, and so does topic {internal}")

    def left_by(self, changelog: Topic, name: str) -> Iterator[Evidence]:
        """Internal topics of an application without a group, which may have expired, or of another application."""
        internal = None if self.is_group(name) else self._internal_topic(name, changelog)
        if internal is not None:
            yield rules.LEFT_TOPICS.of_application(name, f"there is no group {name}, but there is topic {internal}")

    def of_store(self, name: str, store: str) -> Iterator[Evidence]:
        """Whether a store is in its application's given files; an in-memory store leaves none in a state directory."""
        names = {
            on_disk.name for on_disk in self._survey.supplied.stores_on_disk() if on_disk.prefix == name
        } | self._survey.supplied.stores_of_topologies(name)
        if store in names:
            detail = f"the files that you gave for application {name} have a store called {store}"
            yield rules.THERE.of_application(name, detail)
        elif names:
            yield rules.NOT_THERE.of_application(
                name,
                f"the files that you gave for application {name} have {counted(len(names), 'store')}, and none is "
                f"called {store}",
            )

    def _gather(self, name: str) -> Iterator[Evidence]:
        if name in self._supplied:
            yield rules.GIVEN.of_application(name, self._supplied[name])
        if not self.is_group(name):
            return
        signs = tuple(self._signs(name))
        if signs:
            yield rules.STREAMS_GROUP.of_application(name, f"group {name}: {'; '.join(signs)}")
            return
        state = self._survey.group_state(name)
        if state.members and state.client_ids:
            yield rules.PLAIN_GROUP.of_application(
                name,
                f"group {name} has {counted(state.members, 'member')} with assignor {state.assignor or 'none'}, such as client "
                f"{state.client_ids[0]!r}",
            )

    def _signs(self, name: str) -> Iterator[str]:
        with suppress(ClusterError):
            if self.commits_as_streams(name):
                yield "its committed offsets have the metadata that Kafka Streams writes"
        state = self._survey.group_state(name)
        if state.assignor == _STREAMS_ASSIGNOR:
            yield "its members use the assignor of Kafka Streams"
        elif any(map(_STREAM_THREAD.fullmatch, state.client_ids)):
            yield "its members are stream threads"

    def _internal_topic(self, name: str, changelog: Topic) -> Topic | None:
        internal = self._survey.once(("internal",), lambda: tuple(filter(recognise, self._survey.topics())))
        for topic in internal:
            parsed = parse(topic, application=name)
            if parsed is None:
                continue
            if _NUMBERED.fullmatch(parsed.name):
                return topic
            # The first parts of both names, up to the first difference; hyphens separate the parts.
            pairs = takewhile(
                lambda pair: pair[0] == pair[1], zip(topic.split("-"), changelog.split("-"), strict=False)
            )
            in_common = "-".join(part for part, _same in pairs)
            if parsed.kind is not InternalTopicKind.CHANGELOG and in_common == name:
                return topic
        return None

    def _commits(self, name: str) -> bool:
        try:
            return bool(self._survey.commits(name))
        except ClusterError as error:  # a group that srfix may not ask must not hide others
            self.refused[name] = error
            return False
