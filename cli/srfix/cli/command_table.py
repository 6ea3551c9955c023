"""The table of srfix's commands. A command is imported only when it runs: `srfix --help` loads none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class CommandEntry:
    target: str
    """`module:attribute` of the click command."""
    summary: str
    commands: Mapping[str, CommandEntry] = field(default_factory=dict)


def _entry(place: str, summary: str) -> CommandEntry:
    return CommandEntry(f"srfix.cli.commands.{place}", summary)


STATE_COMMANDS: Final[dict[str, CommandEntry]] = {
    "ls": _entry("state.ls:ls", "List the applications, tasks and stores on disk, and the version that wrote them."),
    "get": _entry("state.rows:get", "Print the rows of one key."),
    "scan": _entry("state.rows:scan", "Print the rows of a store, raw or decoded."),
    "export": _entry("state.export:export", "Write the rows of a store to files."),
    "diff": _entry("state.diff:diff", "Compare a store with the topic that it restores from."),
    "size": _entry("state.size:size", "Count entries, bytes, ages and schema ids; name known problems."),
    "where": _entry("state.where:where", "Find the partition, the task and the hosts of a key."),
    "estimate": _entry("state.estimate:estimate", "Estimate the time and memory of a restore."),
    "seed-changelog": _entry(
        "state.topic_plans:seed_changelog",
        "Make a plan to fill a store's changelog, before you stop reusing its source.",
    ),
    "plan-expiry": _entry(
        "state.topic_plans:plan_expiry", "Plan tombstones for keys that nobody has written for a long time."
    ),
    "rebuild": _entry("state.rebuild:rebuild", "Build a store's directory from the topic that it restores from."),
    "migrate": _entry("state.rebuild:migrate", "Copy a directory, for another schema or Kafka Streams version."),
}
"""The commands of `srfix state`, in the order of its help."""


COMMANDS: Final[dict[str, CommandEntry]] = {
    "diagnose": _entry("diagnose:diagnose", "Find the stores that cannot be read after recovery, and why."),
    "plan": _entry("plan:plan", "Plan a repair: what it writes, and what that costs."),
    "apply": _entry("apply:apply", "Carry out a plan; run again if interrupted."),
    "verify": _entry("verify:verify", "Check a repair: ask again, as the failing reader asks."),
    "rollback": _entry("rollback:rollback", "Undo a repair from its journal."),
    "watch": _entry("watch:watch", "Diagnose again and again; register what a signed-off plan allows."),
    "serve": _entry("serve:serve", "Answer for a store over HTTP while its application cannot."),
    "query": _entry("query:query", "Print the rows of a key, from a server or a state directory."),
    "explain": _entry("explain:explain", "Say what a finding code or a pasted stack trace means."),
    "guard": _entry("guard:guard", "Predict what a restore, an upgrade or a new schema will break."),
    "scan": _entry("scan:scan", "Count the schema ids in a topic, by partition."),
    "check": _entry("check:check", "Check whether a topic's reader can read its schema ids."),
    "decode": _entry("decode:decode", "Decode records, or bytes, as a chosen reader does."),
    "encode": _entry("encode:encode", "Encode rows in any format; registers nothing."),
    "schema": _entry("schema:schema", "Print the schema that ksqlDB makes from columns, and its subjects."),
    "schema-of": _entry("schema_of:schema_of", "Print the JSON Schema of a document that srfix writes."),
    "state": CommandEntry("srfix.cli.command_line:state", "Look into a state directory on disk.", STATE_COMMANDS),
    "subjects": _entry("subjects:subjects", "List the subjects that look internal, by kind."),
    "doctor": _entry("doctor:doctor", "Check versions, connections and rights; writes nothing."),
    "demo": _entry("demo:demo", "Show the whole incident, on an embedded Kafka and registry."),
}
"""By name, in the order of `srfix --help`."""


EXAMPLES: Final[Mapping[str, str]] = {
    "diagnose": "srfix diagnose --bootstrap-servers kafka:9092 --registry http://registry:8081",
    "plan": "srfix plan --application shop -o plan.json",
    "apply": "srfix apply plan.json",
    "verify": "srfix verify plan.json",
    "rollback": "srfix rollback plan.json",
    "watch": "srfix watch --allow plan.json --journals journals --listen 127.0.0.1:9273",
    "serve": "srfix serve --application shop --store users --data-dir served --value-format schema",
    "query": "srfix query users ann --url http://127.0.0.1:8088",
    "explain": "srfix explain SRF001",
    "guard": "srfix guard --topology topology.txt --application shop --to 3.7.2",
    "scan": "srfix scan users",
    "check": "srfix check users --reader connect",
    "decode": "srfix decode users --last --max-records 10",
    "encode": "srfix encode --format json --columns 'ID BIGINT' '{\"id\": 7}'",
    "schema": "srfix schema 'ID BIGINT, NAME STRING'",
    "schema-of": "srfix schema-of diagnosis",
    "subjects": "srfix subjects --registry http://registry:8081",
    "doctor": "srfix doctor --bootstrap-servers kafka:9092 --registry http://registry:8081",
    "demo": "srfix demo",
    "state ls": "srfix state ls /var/lib/kafka-streams",
    "state get": "srfix state get /var/lib/kafka-streams ann --store users --registry http://registry:8081",
    "state scan": "srfix state scan /var/lib/kafka-streams --store users --limit 20",
    "state export": "srfix state export /var/lib/kafka-streams --store users --to parquet --out rows",
    "state diff": "srfix state diff /var/lib/kafka-streams --store users --bootstrap-servers kafka:9092",
    "state size": "srfix state size /var/lib/kafka-streams",
    "state where": "srfix state where /var/lib/kafka-streams ann --store users",
    "state estimate": "srfix state estimate /var/lib/kafka-streams --bootstrap-servers kafka:9092",
    "state seed-changelog": "srfix state seed-changelog --application shop --store users --source users -o seed.json",
    "state plan-expiry": "srfix state plan-expiry --application shop --topic users --older-than 90d -o expiry.json",
    "state rebuild": "srfix state rebuild --application shop --store users --from-topic users --until committed --kind "
    "timestamped-kv --streams-version 3.7.2 --out new",
    "state migrate": "srfix state migrate /var/lib/kafka-streams --streams-version 3.7.2 --out new",
}
"""For each command, an example line. Only the names in it have to be replaced."""


def every_command() -> dict[str, CommandEntry]:
    """By the words that a user types after `srfix`: `state`, `state ls`. A group stands before its commands."""
    return {
        f"{name} {inner}".rstrip(): inner_entry
        for name, entry in COMMANDS.items()
        for inner, inner_entry in {"": entry, **entry.commands}.items()
    }


def with_options() -> dict[str, CommandEntry]:
    """The commands with options, by the name of their table in the configuration file: `scan`, `state-ls`."""
    return {name.replace(" ", "-"): entry for name, entry in every_command().items() if not entry.commands}
