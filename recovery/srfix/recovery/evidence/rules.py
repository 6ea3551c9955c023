"""How to weigh a hypothesis (application, store, source topic): every kind of evidence, and its weight. The modules
beside this one gather evidence; `hypotheses` decides. `DESIGN.md` shows the rules as a table, in the order in which they
stand here, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Final, Literal

from srfix.recovery.findings import Evidence, Weight
from srfix.serde.subjects.names import Topic

COUNTED_ONCE: Final = {"given": "application", "streams-group": "application", "internal-topics": "application"}
"""Kinds that all say the same, namely that there is such an application; they count once together."""
POINTS: Final = {Weight.CONCLUSIVE: 16, Weight.STRONG: 4, Weight.WEAK: 1}
"""The points of a kind of evidence. Each kind counts once for and once against, with its best weight."""
MARGIN: Final = 4
"""By how many points a hypothesis must lead every hypothesis with another topic."""
MARGIN_OF_STORES: Final = 3
"""By how many points it must lead a hypothesis with another store of the application and the same topic."""
MARGIN_OF_APPLICATIONS: Final = 3
"""By how many points it must lead a hypothesis with the same topic and another application."""
MARGIN_OF_DOUBTS: Final = 4
"""By how many points it must lead a hypothesis whose application left no sign, because the group may have expired."""


@dataclass(frozen=True, slots=True)
class Rule:
    kind: str
    """The kind of evidence; rows of one kind count once together."""
    weight: Weight
    when: str
    _: KW_ONLY
    about: Literal["application", "source topic"]
    against: bool = False

    def says(self, piece: Evidence) -> bool:
        """True if the piece may come from this rule; the rules of one kind differ in weight or direction."""
        return (piece.kind, piece.weight, piece.against) == (self.kind, self.weight, self.against)

    def of_topic(
        self, topic: Topic | None, detail: str, *, application: str | None = None, weight: Weight | None = None
    ) -> Evidence:
        return Evidence(
            kind=self.kind,
            topic=topic,
            weight=weight or self.weight,
            detail=detail,
            against=self.against,
            application=application,
        )

    def of_application(self, application: str, detail: str) -> Evidence:
        return self.of_topic(None, detail, application=application)


_application = partial(Rule, about="application")
_source = partial(Rule, about="source topic")

GIVEN: Final = _application(
    "given",
    Weight.STRONG,
    "a person names it (`--application`, `--source`), or gives its state directory, topology or ksqlDB query",
)
STREAMS_GROUP: Final = _application(
    "streams-group",
    Weight.STRONG,
    "its group has signs of Kafka Streams: metadata beside its offsets, assignor `stream`, client ids of stream threads",
)
INTERNAL_TOPICS: Final = _application(
    "internal-topics",
    Weight.STRONG,
    "the application has a group, and an internal topic's name begins with the group's name. Either the rest of that "
    "name has a number, as only Kafka Streams gives it, or the topic is a repartition or subscription topic, and its "
    "name and the changelog's name begin alike only in the group's name",
)
LEFT_TOPICS: Final = _application(
    "internal-topics",
    Weight.WEAK,
    "it has no group, but it has such an internal topic: its group may have expired, so this only makes the other "
    "applications less certain",
)
PLAIN_GROUP: Final = _application(
    "plain-group", Weight.CONCLUSIVE, "its group has members, and none of them is a stream thread", against=True
)
OTHER_QUERY: Final = _application(
    "ksqldb-name",
    Weight.CONCLUSIVE,
    "the changelog's name begins with the name of a ksqlDB query, and the application is not this query",
    against=True,
)
NOT_THERE: Final = _application(
    "not-there",
    Weight.WEAK,
    "the person gave the application's state directory or topology, and it has no store of this name",
    against=True,
)
THERE: Final = _application(
    "there",
    Weight.WEAK,
    "the person gave the application's state directory or topology, and it has a store of this name",
)
EXPLICIT: Final = _source(
    "explicit", Weight.CONCLUSIVE, "a person names it (`--source`): this decides, whatever the other evidence says"
)
STATE_DIRECTORY: Final = _source(
    "state-directory",
    Weight.CONCLUSIVE,
    "the offsets in the store name the topic; or the checkpoint of the store's task names only this source topic, and "
    "every other store of the task has its own changelog, or restores from no source topic",
)
ALLOWED_BY_STATE_DIRECTORY: Final = _source(
    "state-directory", Weight.WEAK, "the task's checkpoint names the topic, but allows other stores or topics, too"
)
LEFT_ELSEWHERE: Final = _source(
    "state-directory", Weight.WEAK, "the checkpoint of the store's task allows only other topics", against=True
)
TOPOLOGY: Final = _source(
    "topology", Weight.CONCLUSIVE, "the application's printed topology has the store as the topic's table"
)
LIKELY_TOPOLOGY: Final = _source(
    "topology",
    Weight.STRONG,
    "the topology shows this, but nobody named its application, or a person has chosen the names in it",
)
ALLOWED_BY_TOPOLOGY: Final = _source("topology", Weight.WEAK, "the printed topology allows it, but does not show it")
KSQLDB: Final = _source(
    "ksqldb",
    Weight.CONCLUSIVE,
    "the query's topology says so; the weight is that of `topology`",
)
TABLE_OF_KSQLDB: Final = _source("ksqldb", Weight.STRONG, "the query reads one table; weak if it reads several")
AUTOMATIC_NAME: Final = _source(
    "store-name", Weight.STRONG, "the store's automatic name contains the topic: `<topic>-STATE-STORE-<number>`"
)
NAMED_AFTER: Final = _source("store-name", Weight.WEAK, "the store's name and the topic's name have the same beginning")
NAMED_OTHERWISE: Final = _source(
    "store-name", Weight.WEAK, "the store's name and another topic's name have the same beginning", against=True
)
ALL_FIELDS: Final = _source(
    "schema-similarity",
    Weight.STRONG,
    "under the case rules, the topic's schema has every field of the phantom's schema, with a type that can feed it",
)
NOT_COMPARED: Final = _source(
    "schema-similarity",
    Weight.WEAK,
    "the topic cannot be compared (it has no subject with fields, and no record with an id). In addition, the group "
    "reads it, or the store is named after it, or the application has committed nothing and another topic fits",
)
SOME_FIELDS: Final = _source(
    "schema-similarity", Weight.WEAK, "the topic's schema has some of the phantom's fields, but not all", against=True
)
NO_FIELD: Final = _source(
    "schema-similarity", Weight.CONCLUSIVE, "the topic's schema has none of the phantom's fields", against=True
)
KEY_FIELDS: Final = _source(
    "key-similarity",
    Weight.WEAK,
    "only the keys can be compared, and every field of the phantom's key schema is one of the topic's",
)
OTHER_KEY_FIELDS: Final = _source(
    "key-similarity",
    Weight.STRONG,
    "only the keys can be compared, and at least one field of the phantom's key schema is not one of the topic's",
    against=True,
)
SAME_FIELDS: Final = _source("same-fields", Weight.WEAK, "in addition, the topic's schema has no other field")
SAME_RECORD: Final = _source(
    "record-name", Weight.STRONG, "both records have the same full name, and a person has chosen that name"
)
NO_IDS: Final = _source(
    "record-ids",
    Weight.STRONG,
    "the topic has no subject; srfix looked at some of its values, and none of them carries a schema id",
    against=True,
)
LOST_IDS: Final = _source(
    "record-ids",
    Weight.STRONG,
    "the group has committed offsets there, the topic has no subject, and the registry knows no schema id in the "
    "values that srfix looked at: there was a schema, and it is gone",
)
ROW_IDS: Final = _source(
    "row-ids",
    Weight.STRONG,
    "the store has left no schema to compare, and the topic's subject holds every id in the rows on disk that srfix "
    "looked at",
)
COMMITTED: Final = _source("committed-offsets", Weight.WEAK, "the group has committed offsets there")
NOT_COMMITTED: Final = _source(
    "committed-offsets",
    Weight.WEAK,
    "the group has committed offsets elsewhere, and none there: only a global table restores from such a topic",
    against=True,
)
ANOTHER_COMMITTED: Final = _source(
    "committed-offsets",
    Weight.STRONG,
    "the group has committed offsets elsewhere, and none there, but the topic's schema has every field of the "
    "phantom's schema. Exactly one topic on which the group has committed offsets has all these fields, too, and has "
    "extra fields only if this topic has some (for a ksqlDB query, which has no global tables, extra fields do not "
    "matter). And the store is not named only after this topic",
    against=True,
)
NO_GLOBAL: Final = _source(
    "committed-offsets",
    Weight.STRONG,
    "the group has committed offsets there, but a topology or a state directory shows that the store is global, "
    "and no group reads a global store's topic",
    against=True,
)
GONE: Final = _source(
    "gone", Weight.STRONG, "the topic no longer exists, and a topic that the group reads fits as well", against=True
)
