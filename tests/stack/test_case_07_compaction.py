"""Case 7: several partitions, several versions of the source's schema, tombstones, and a log that the broker compacts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import StreamsError
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.compaction import COMPACT, configure, offsets, wait_until
from tests.stack.scene import PARTITIONS, WRITER_SCHEMA, Scene, diagnose, make_plan, srfix

pytestmark = pytest.mark.stack

KEYS: Final = 90
ROUNDS: Final = 12
FIELDS: Final[Any] = WRITER_SCHEMA["fields"]
NEXT: Final = {**WRITER_SCHEMA, "fields": [*FIELDS, {"name": "tier", "type": ["null", "string"], "default": None}]}
LAST: Final = {**WRITER_SCHEMA, "fields": [*FIELDS, {"name": "tier", "type": ["null", "int"], "default": None}]}


class Users:
    """Producers of three versions of the schema, and which version and name each key has now."""

    def __init__(self, scene: Scene, schemas: Mapping[int, Mapping[str, object]]) -> None:
        self.scene = scene
        self.schemas = schemas
        self.names: dict[str, str] = {}
        self.ids: dict[str, int] = {}

    def write(self, schema_id: int, name: str, keys: list[str]) -> None:
        schema = self.schemas[schema_id]
        users = [(key, {"userId": int(key[1:]), "fullName": f"{name} {key}", "homeCountry": None}) for key in keys]
        self.scene.produce(*users, schema=schema, schema_id=schema_id)
        self.names |= {key: f"{name} {key}" for key in keys}
        self.ids |= dict.fromkeys(keys, schema_id)

    def remove(self, keys: list[str]) -> None:
        self.scene.produce(*((key, None) for key in keys))
        for key in keys:
            del self.names[key], self.ids[key]


def test_the_live_keys_that_srfix_counts_are_the_rows_of_the_restored_store(
    scene: Scene, registry: FixtureRegistry
) -> None:
    topic = scene.setup.users
    configure(scene.broker, topic, COMPACT)
    next_id = registry.seed(scene.source_subject, json.dumps(NEXT))
    superseded_id = registry.seed(scene.source_subject, json.dumps(LAST))
    users = Users(scene, {scene.writer_id: WRITER_SCHEMA, next_id: NEXT, superseded_id: LAST})
    keys = [f"k{number}" for number in range(KEYS)]
    for number in range(ROUNDS):
        users.write(superseded_id, f"superseded in round {number}, long enough to fill segments", keys)
    users.write(scene.writer_id, "old", keys)
    users.write(next_id, "new", keys[::2])
    users.remove(keys[::5])
    users.write(scene.writer_id, "back", keys[::10])

    with scene.running() as application:
        application.wait_for_commit(topic)
    lose_state(scene.setup)
    wait_until(lambda: is_compacted(scene))

    # The census counts, per id, the keys whose newest record carries it.
    live = Counter(users.ids.values())
    with scene.running() as application:
        with pytest.raises(StreamsError, match="Error retrieving Avro value schema version for id"):
            application.rows()
        (finding,) = [found for found in diagnose(scene, code=1) if found["severity"] != "note"]
        assert {fault["id"]: fault["live_keys"] for fault in finding["schema_ids"]} == live
        places = [place for fault in finding["schema_ids"] for place in fault["partitions"]]
        assert {partition for place in places for partition in place["partitions"]} == set(range(PARTITIONS))
        plan = make_plan(scene)
        srfix(scene, "apply", str(plan), "--yes")
        srfix(scene, "verify", str(plan))
        rows = dict(application.rows())
        assert {key: row["FULLNAME"] for key, row in rows.items()} == users.names
        assert len(rows) == sum(fault["live_keys"] for fault in finding["schema_ids"])


def is_compacted(scene: Scene) -> bool:
    """True once every partition has lost records."""
    return all(len(of) <= of[-1] for of in offsets(scene.broker, scene.setup.users).values())
