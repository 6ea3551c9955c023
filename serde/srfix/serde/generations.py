"""Which engine wrote a schema, and when: the two things that its Connect properties depend on.

| generation | CREATE | the runtime serializer |
|---|---|---|
| `UP_TO_0_28` | with Connect's properties | without them, except `connect.internal.type` |
| `FROM_0_29` | with Connect's properties | with Connect's properties |

CREATE and C*AS register through AvroData with its defaults (`connect.meta.data=true`); the runtime serializer ran with
`connect.meta.data=false` until ksql#9238 (0.29, Confluent Platform 7.4). JSON Schema has no such switch: there the text
is the same in all four.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Generation", "WrittenBy"]


class Generation(Enum):
    """Engines that write the same internal schema."""

    UP_TO_0_28 = "up-to-0.28"
    FROM_0_29 = "from-0.29"


class WrittenBy(Enum):
    """What registered the schema."""

    CREATE = "create"
    SERIALIZER = "serializer"
