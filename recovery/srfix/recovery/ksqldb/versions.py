"""What a ksqlDB server gives as its version: ksqlDB's own, or that of the Confluent Platform it was built for."""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_FIRST_OF_PLATFORM: Final = (5, 0, 0)
"""ksqlDB's own are below 1, the platform's from 5.x on."""


def is_at_least(version: str, *, ksqldb: tuple[int, int, int], platform: tuple[int, int, int]) -> bool | None:
    """True if a server of that version is at least ksqlDB `ksqldb`, or built for Confluent Platform `platform` or later.

    None if the text is no version.
    """
    found = _VERSION.match(version)
    if found is None:
        return None
    number = (int(found[1]), int(found[2]), int(found[3] or 0))
    return number >= (platform if number >= _FIRST_OF_PLATFORM else ksqldb)
