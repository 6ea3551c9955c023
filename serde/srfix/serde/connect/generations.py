"""The engine's version and the writer (CREATE or the serializer) of a schema. Its Connect properties depend on these
two.

| generation | CREATE | the runtime serializer |
|---|---|---|
| `UP_TO_0_28` | with Connect's properties | without them, except `connect.internal.type` |
| `FROM_0_29` | with Connect's properties | with Connect's properties |

CREATE and C*AS register through AvroData with its defaults (`connect.meta.data=true`); the runtime serializer ran with
`connect.meta.data=false` until ksql#9238 (0.29, Confluent Platform 7.4). JSON Schema has no such switch: there the text
is the same in all four cases.
"""

from __future__ import annotations

import re
from enum import Enum

from srfix.serde.errors import UsageError


class Generation(Enum):
    """Versions of ksqlDB that write the same internal schema."""

    UP_TO_0_28 = "up-to-0.28"
    FROM_0_29 = "from-0.29"

    @classmethod
    def of(cls, version: str) -> Generation:
        """The generation of a version: ksqlDB's own (`0.23.1`) or its platform's (`7.3.2`, `8.0.0-ccs`).

        After 0.29 (which is 7.4), ksqlDB took its platform's numbers, so a version of 5 or higher is a platform's.

        :raises UsageError: if the text is not a version.
        """
        match = _VERSION.fullmatch(version.strip())
        if match is None:
            raise UsageError(
                f"{version!r} is not a version of ksqlDB or of its platform. Give one such as 0.23.1 or 7.3.2."
            )
        release = (int(match["major"]), int(match["minor"]))
        first = (0, 29) if release[0] < _FIRST_PLATFORM else (7, 4)
        return cls.FROM_0_29 if release >= first else cls.UP_TO_0_28


_VERSION = re.compile(r"v?(?P<major>[0-9]{1,4})\.(?P<minor>[0-9]{1,4})(?:[.-].*)?", re.DOTALL)
_FIRST_PLATFORM = 5


class WrittenBy(Enum):
    """The writer that registered the schema."""

    CREATE = "create"
    SERIALIZER = "serializer"


def has_connect_properties(generation: Generation, written_by: WrittenBy) -> bool:
    """Whether an Avro schema has Connect's properties (`connect.meta.data`): see the table above."""
    return generation is Generation.FROM_0_29 or written_by is WrittenBy.CREATE
