"""What `srfix state where` finds out beside the directory: the hosts of a key's task, and what its readers meet."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srfix.cli.connection import Connection
from srfix.cli.options.evidence import KsqldbServers
from srfix.recovery.errors import KsqldbError
from srfix.recovery.ids_in_words import counted
from srfix.recovery.internal_topics import ksqldb_query

if TYPE_CHECKING:
    from srfix.recovery.cluster.cluster import Cluster
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.key_reads import KeyRead, NewestRecord
    from srfix.recovery.stores.placing import TaskHost
    from srfix.recovery.stores.whereabouts import Whereabouts
    from srfix.serde.subjects.names import Topic


@dataclass(slots=True, kw_only=True)
class KeyLook:
    """What is known of one key of a store."""

    application: ApplicationState
    store: StateStore
    """Any part of the store."""
    found: Whereabouts
    topic: Topic | None
    """From which the store restores; None if that is not known."""
    newest: NewestRecord | None = None
    hosts: list[TaskHost] = field(default_factory=list)
    reads: list[KeyRead] = field(default_factory=list)
    not_looked_at: list[str] = field(default_factory=list)
    """What, and why not."""

    def find_hosts(self, cluster: Cluster | None, group: str, ksqldb: KsqldbServers) -> None:
        """Asks the application's group, and ksqlDB, as far as they were named."""
        from srfix.recovery.stores.placing import hosts_by_group, hosts_by_ksqldb, task_of

        name, partition = task_of(self.store.task, self.found.partition), self.found.partition
        if cluster is not None:
            told = cluster.streams_members(group)
            self.hosts += hosts_by_group(told, self.store.task, partition)
            if told.problem is not None:
                self.not_looked_at.append(f"the hosts of task {name}, as group {group} would say: {told.problem}")
            elif not self.hosts:
                self.not_looked_at.append(f"the hosts of task {name}: no member of group {group} has it")
        for client in ksqldb.clients():
            try:
                servers = client.cluster_status()
            except KsqldbError as error:
                self.not_looked_at.append(f"the hosts of task {name}, as ksqlDB would say: {error.message}")
                continue
            held = list(
                hosts_by_ksqldb(
                    servers,
                    application=self.application.application,
                    store=self.store.name,
                    task=self.store.task,
                    partition=partition,
                    url=client.url,
                )
            )
            self.hosts += held
            if not held:
                query = ksqldb_query(self.application.application)
                whose = (
                    f"query {query.query_id}" if query is not None else "the application, which is no query of ksqlDB's"
                )
                self.not_looked_at.append(f"the hosts of task {name}: {client.url} names none for {whose}")
        if cluster is None and not ksqldb.ksqldb:
            self.not_looked_at.append(
                f"the hosts of task {name}, active and standby: --bootstrap-servers asks the application's group, --ksqldb "
                "ksqlDB"
            )

    def find_record(self, cluster: Cluster | None) -> None:
        """Looks for the topic's newest record of the key: what a restore puts in the store."""
        from srfix.recovery.stores.key_reads import key_in_topic, newest_record

        if cluster is None:
            return
        if self.topic is None:
            self.not_looked_at.append("the topic's newest record of the key: DIR does not name the topic; give --topic")
        elif (key_of := key_in_topic(self.store.format)) is None:
            self.not_looked_at.append(
                f"the newest record of {self.topic}: those of a {self.store.format.value} store lie where their foreign keys do"
            )
        elif self.topic not in cluster.topics():
            self.not_looked_at.append(f"the newest record of {self.topic}: the cluster has no such topic")
        else:
            self.newest = newest_record(cluster, self.topic, self.found.partition, self.found.key, key_of=key_of)
            if self.newest.record is None and not self.newest.is_all:
                looked = counted(self.newest.looked_at, "record")
                self.not_looked_at.append(f"the newest record of {self.topic}: none of its last {looked} has the key")

    def ask(self, connection: Connection, stack: ExitStack) -> None:
        """Asks the registry for what the row and the topic's record carry."""
        from srfix.recovery.stores.key_reads import asked_subjects, read_key, record_ids

        rows = [
            (f"task {each.store.task.name}", each.schema_ids, False) for each in self.found.holders if each.schema_ids
        ]
        if self.newest is not None and self.newest.record is not None:
            ids = record_ids(self.newest.record)
            rows += [(f"the newest record of {self.topic}", ids, True)] if ids else []
        if not rows:
            return
        if not connection.registry.urls:
            self.not_looked_at.append("what readers of the row meet: --registry names whom they ask")
            return
        registry = stack.enter_context(connection.registry_client())
        asked = asked_subjects(self.store.changelog, self.topic, self.application.traces)
        for row, ids, is_in_topic in rows:
            self.reads += read_key(registry, row, ids, asked, is_in_topic=is_in_topic)

    def fate(self, host: TaskHost) -> str:
        """Whether a host would fail to read the key, as far as the topic's record tells: what a restore puts there."""
        from srfix.recovery.stores.placing import HostRole

        of_topic = [each for each in self.reads if each.is_in_topic]
        if not of_topic:
            return "not known"
        failing = [each.asked.asked_by for each in of_topic if each.fails]
        if not failing:
            return "yes"
        fails = "no" if len(failing) == len(of_topic) else f"not with {failing[0]}"
        is_copied = host.role is HostRole.STANDBY or self.topic == self.store.changelog
        return fails if is_copied else f"{fails}, if a restore put it there"
