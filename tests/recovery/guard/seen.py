"""What guard foretells where it sees a cluster and a registry: the incident's parts, in small."""

from __future__ import annotations

import json
from typing import Final

from srfix.recovery import Supplied
from srfix.recovery.diagnosis.forecast import foretell, look_through
from srfix.recovery.guard.models import Assumed, Forecast, NewSchema
from srfix.serde import Schema, Subject
from tests.recovery.guard.offline import assumed, supplied
from tests.recovery.staging import TABLE
from tests.recovery.world import World, value

PHANTOM: Final = "shop-users-store-changelog-value"
SOURCE: Final = "users-value"


def record(name: str, *fields: str) -> str:
    """A record of nullable longs, the first of which is not nullable."""
    first, *rest = fields
    columns = [{"name": first, "type": "long"}, *({"name": f, "type": ["null", "long"], "default": None} for f in rest)]
    return json.dumps({"type": "record", "name": name, "fields": columns})


WRITER: Final = record("User", "userId")
NEXT: Final = record("User", "userId", "age")
OWN: Final = record("KsqlDataSourceSchema", "USERID")


def stage(
    world: World, *, source: tuple[str, ...] = (WRITER,), phantom: tuple[str, ...] = (OWN,), committed: int = 1
) -> None:
    """One record under the producers' first schema, and what stands under the two subjects."""
    ids = [world.registry.seed(SOURCE, text) for text in source]
    for text in phantom:
        world.registry.seed(PHANTOM, text)
    world.put("users", ("ann", value(ids[0])))
    if committed:
        world.commit("shop", users=committed)


def seen(
    world: World,
    told: Assumed | None = None,
    text: str = TABLE,
    *,
    schema: NewSchema | None = None,
    handed_over: Supplied | None = None,
    has_cluster: bool = True,
    has_registry: bool = True,
    store: str | None = None,
    max_records: int | None = None,
) -> Forecast:
    """The forecast, for which nothing was written."""
    before = world.registry.dump()
    sight = look_through(
        world.cluster if has_cluster else None,
        world.client() if has_registry else None,
        world.engine,
        supplied=handed_over,
        max_records=max_records,
    )
    found = foretell(
        supplied(text) if handed_over is None else handed_over, told or assumed(), sight, schema=schema, store=store
    )
    assert world.registry.dump() == before
    return found


def new(text: str = NEXT, subject: str = SOURCE) -> NewSchema:
    """A schema about to be registered."""
    return NewSchema(subject=Subject(subject), schema=Schema(text=text), origin="new.avsc")
