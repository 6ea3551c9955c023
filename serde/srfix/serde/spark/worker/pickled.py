"""What a task gets as bytes, and makes once in its process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

MOST_PLANS: Final = 16


def made_once(make: Callable[[Any], _T]) -> Callable[[bytes], _T]:
    """The function of the pickled value; the same bytes give the same object."""

    @lru_cache(maxsize=MOST_PLANS)
    def of_pickled(pickled: bytes) -> _T:
        return make(pickle.loads(pickled))  # noqa: S301 - the driver's, by the same way as the code that is running

    return of_pickled
