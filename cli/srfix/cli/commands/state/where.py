"""`srfix state where`: shows the partition, the task and the hosts of a key, and the readers that would fail on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state import choosing
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.evidence import KsqldbServers, ksqldb_options
from srfix.cli.options.options import output_option, quiet_option
from srfix.cli.options.typed_bytes import taken_as_text
from srfix.cli.options.values import option
from srfix.cli.output.interface import Block, FieldList, OutputFormat, Paragraph, Report, Table, table_of
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.errors import KsqldbError
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.typed_keys import key_bytes
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.cluster.cluster import Cluster
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.whereabouts import KeyHost, NewestRecord, RowRead, Whereabouts


@dataclass(slots=True, kw_only=True)
class KeyLook:
    application: ApplicationState
    store: StateStore
    """One part of the store; it does not matter which."""
    location: Whereabouts
    topic: Topic | None
    """The topic from which the store restores; None if srfix does not know it."""
    newest: NewestRecord | None = None
    hosts: list[KeyHost] = field(default_factory=list)
    reads: list[RowRead] = field(default_factory=list)
    not_looked_at: list[str] = field(default_factory=list)

    def find_hosts(self, cluster: Cluster | None, group: str, ksqldb: KsqldbServers) -> None:
        from srfix.recovery.stores.whereabouts import hosts_by_group, hosts_by_ksqldb, task_of

        name, partition = task_of(self.store.task, self.location.partition), self.location.partition
        if cluster is not None:
            members = cluster.streams_members(group)
            self.hosts += hosts_by_group(members, self.store.task, partition)
            if members.problem is not None:
                self.not_looked_at.append(f"the hosts of task {name}, from group {group}: {members.problem}")
            elif not self.hosts:
                self.not_looked_at.append(f"the hosts of task {name}: no member of group {group} has it")
        for client in ksqldb.clients():
            try:
                servers = client.cluster_status()
            except KsqldbError as error:
                self.not_looked_at.append(f"the hosts of task {name}, from ksqlDB: {error.message}")
                continue
            hosts = list(
                hosts_by_ksqldb(
                    servers,
                    application=self.application.application,
                    store=self.store.name,
                    task=self.store.task,
                    partition=partition,
                    url=client.url,
                )
            )
            self.hosts += hosts
            if not hosts:
                query = ksqldb_query(self.application.application)
                why = ", because the application is not a query of ksqlDB"
                if query is not None:
                    why = f" for query {query.query_id}"
                self.not_looked_at.append(f"the hosts of task {name}, from ksqlDB: {client.url} names no hosts{why}")
        if cluster is None and not ksqldb.ksqldb:
            self.not_looked_at.append(
                f"the hosts of task {name}, active and standby: give --bootstrap-servers (srfix then asks the "
                "application's group) or --ksqldb"
            )

    def find_record(self, cluster: Cluster | None) -> None:
        """Looks for the topic's newest record of the key, which a restore would put in the store."""
        from srfix.recovery.stores.whereabouts import key_in_topic, newest_record

        if cluster is None:
            return
        if self.topic is None:
            self.not_looked_at.append("the topic's newest record of the key: DIR does not name the topic; give --topic")
        elif (key_of := key_in_topic(self.store.format)) is None:
            self.not_looked_at.append(
                f"the newest record of {self.topic}: records of a {self.store.format.value} store are in the "
                "partitions of their foreign keys"
            )
        elif self.topic not in cluster.topics():
            self.not_looked_at.append(f"the newest record of {self.topic}: the cluster has no such topic")
        else:
            self.newest = newest_record(cluster, self.topic, self.location.partition, self.location.key, key_of=key_of)
            if self.newest.record is None and not self.newest.is_all:
                count = counted(self.newest.looked_at, "record")
                self.not_looked_at.append(f"the newest record of {self.topic}: none of its last {count} has the key")

    def ask(self, connection: Connection, stack: ExitStack) -> None:
        from srfix.recovery.stores.whereabouts import asked_subjects, read_key, record_ids

        rows = [
            (f"task {holder.store.task.name}", holder.schema_ids, False)
            for holder in self.location.holders
            if holder.schema_ids
        ]
        if self.newest is not None and self.newest.record is not None:
            ids = record_ids(self.newest.record)
            rows += [(f"the newest record of {self.topic}", ids, True)] if ids else []
        if not rows:
            return
        if not connection.registry.urls:
            self.not_looked_at.append("whether readers can read the row: give --registry")
            return
        registry = stack.enter_context(connection.registry_client())
        subjects = asked_subjects(self.store.changelog, self.topic, self.application.traces)
        for row, ids, is_in_topic in rows:
            self.reads += read_key(registry, row, ids, subjects, is_in_topic=is_in_topic)

    def fate(self, host: KeyHost) -> str:
        """Whether a host would fail to read the key: judged by the topic's record, which a restore would put there."""
        from srfix.recovery.stores.whereabouts import HostRole

        of_topic = [read for read in self.reads if read.is_in_topic]
        if not of_topic:
            return "not known"
        failing = [read.asked_by for read in of_topic if read.fails]
        if not failing:
            return "yes"
        fails = "no" if len(failing) == len(of_topic) else f"not with {failing[0]}"
        is_copied = host.role is HostRole.STANDBY or self.topic == self.store.changelog
        return fails if is_copied else f"{fails}, if a restore wrote the row"


@command()
@choosing.directory_argument
@click.argument("key")
@choosing.choice_options
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="The number of the store's partitions.")
@click.option(
    "--topic",
    help="The topic that the store restores from, its source or changelog. Default: the topic that DIR names.",
)
@option("--group", metavar="ID", help="The application's consumer group. Default: its application.id.")
@ksqldb_options
@connection_options
@quiet_option
@output_option
def where(
    directory: str,
    key: str,
    choice: choosing.StoreChoice,
    partitions: int | None,
    topic: str | None,
    group: str | None,
    ksqldb: KsqldbServers,
    connection: Connection,
    quiet: bool,
    output: OutputFormat,
) -> ExitCode:
    """Find the partition, the task and the hosts of KEY, and the readers that would fail. Reads only.

    KEY is text, or bytes with a prefix: hex:…, base64:…, int:…, long:… or double:…. If a text begins with such a prefix,
    write text:… before it. If keys begin with a schema id, the same key has different bytes for each id, and so may belong
    to a different partition for each id. srfix uses the default partitioner. Without --partitions and without a cluster,
    srfix counts the partitions in DIR, which may hold only some partitions. The hosts, active and standby, come from the
    application's group (--bootstrap-servers) or from ksqlDB (--ksqldb). With --registry srfix looks up schema ids under the
    store's subjects: the ids in the row, and the ids in the topic's newest record of the key, whatever the record's window.
    Exit code 1 if the key is not in the task that it belongs to, if another task holds it, or if a reader that looks up
    versions cannot read it.
    """
    from srfix.cli.session import open_cluster
    from srfix.recovery.state.directory import topic_of
    from srfix.recovery.stores.whereabouts import is_failing, state_where, whereabouts

    if partitions is not None and topic is not None:
        raise UsageError("--partitions and --topic exclude each other: give one of them.")
    pairs = choice.one_store(directory)
    application, first = pairs[0]
    stores = [store for _application, store in pairs]
    with ExitStack() as stack:
        has_cluster = topic is not None or connection.kafka.get("bootstrap.servers") is not None
        cluster = stack.enter_context(open_cluster(connection))[0] if has_cluster else None
        restore_topic = Topic(topic) if topic is not None else topic_of(application, first.directory, first.task)[0]
        count, source = _partitions(stores, partitions, restore_topic, cluster, is_named=topic is not None)
        location = whereabouts(key_bytes(key), stores, partitions=count)
        look = KeyLook(application=application, store=first, location=location, topic=restore_topic)
        look.find_hosts(cluster, group or application.application, ksqldb)
        look.find_record(cluster)
        look.ask(connection, stack)
    document = state_where(
        location,
        srfix=version("srfix"),
        generated_at=now(),
        application=application.application,
        store=first.name,
        partitions_from=source,
        hosts=look.hosts,
        reads=look.reads,
        not_looked_at=[*look.not_looked_at, *choosing.shut_stores(stores)],
    )
    title = f"{first.name} of {application.application}"
    unread = choosing.not_read(pairs)
    is_missing = location.is_found is False and not unread.is_unseen
    code = unread.code(is_wrong=bool(location.astray) or is_missing or is_failing(look.reads))
    report = Report(document=document.to_json(), blocks=tuple(_blocks(title, location, source, look)))
    lines = taken_as_text(key) if is_missing else []
    if not any(holder.is_home for holder in location.holders):
        lines.append(f"No task of partition {location.partition} is in {directory}: another instance holds it.")
    lines += [
        (
            f"Task {holder.store.task.name} holds the key, but Kafka Streams looks for it in partition "
            f"{location.partition}."
        )
        for holder in location.astray
    ]
    lines += [f"Not looked at: {why}" for why in look.not_looked_at]
    return conclude(report, output, quiet=quiet, code=code, lines=(*lines, *unread.lines))


def _blocks(title: str, location: Whereabouts, source: str, look: KeyLook) -> Iterator[Block]:
    from srfix.recovery.stores.whereabouts import murmur2, task_of

    is_global = all(holder.store.partition is None for holder in location.holders)
    place = f"{location.partition} of {location.partitions} ({source})"
    yield FieldList(
        (
            ("store", title),
            ("key", f"0x{location.key.hex()}"),
            ("murmur2", str(murmur2(location.key))),
            ("partition", "a global store holds all" if is_global else place),
            ("task", task_of(look.store.task, location.partition)),
        )
    )
    yield table_of(
        location.holders,
        {
            "task": lambda holder: holder.store.task.name,
            "belongs here": lambda holder: "yes" if holder.is_home else "no",
            "rows": lambda holder: choosing.read_so_far(holder.rows, holder.store),
            "value ids": lambda holder: enumerated(holder.schema_ids) or "-",
            "directory": lambda holder: holder.store.directory.path,
        },
    )
    if look.hosts:
        rows = tuple(
            (host.host, host.role.value, host.client_id or host.said_by, look.fate(host)) for host in look.hosts
        )
        yield Table(("host", "holds it", "source", "reads it"), rows, title="Hosts")
    if look.reads:
        yield Table(
            ("row", "schema id", "subject", "asked by", "answer"),
            tuple((read.row, str(read.schema_id), read.subject, read.asked_by, read.answer) for read in look.reads),
            title="What happens when a reader reads the row",
        )
        if any(read.fails for read in look.reads):
            yield Paragraph(
                "If a schema is not registered under the subject, a reader that looks up the version there (Connect's "
                "AvroConverter, ksqlDB) fails. A plain deserializer asks only for the id."
            )


def _partitions(
    stores: list[StateStore], partitions: int | None, topic: Topic | None, cluster: Cluster | None, *, is_named: bool
) -> tuple[int, str]:
    if partitions is not None:
        return partitions, "as given"
    if topic is not None and cluster is not None:
        count = cluster.topics().get(topic)
        if count is not None:
            return count, f"as many as {topic} has"
        if is_named:
            raise UsageError(f"There is no topic {topic!r}. Give the store's source topic or changelog.")
    return max((store.partition or 0) for store in stores) + 1, "counted in this directory; there may be more"
