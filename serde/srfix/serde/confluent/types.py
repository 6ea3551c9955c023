"""What type checkers know a deserializer's answers by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=object)
    """What a deserializer gives."""
else:
    from typing import TypeVar

    T = TypeVar("T")
R = TypeVar("R")
"""A dataclass."""
