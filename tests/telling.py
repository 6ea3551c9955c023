"""Tables of cases of which `make test` runs the few that tell most, and `make everything` all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def slow_but(cases: Iterable[object], *telling: object, in_parts: bool = False) -> list[object]:
    """All of them, marked slow but for those that tell most.

    :param in_parts: True if a case is a tuple of several arguments.
    """
    told = [*cases]
    assert all(case in told for case in telling), "a case that tells most is none of the table"
    return [
        case if case in telling else pytest.param(*(case if in_parts else (case,)), marks=pytest.mark.slow)  # type: ignore[misc]
        for case in told
    ]
