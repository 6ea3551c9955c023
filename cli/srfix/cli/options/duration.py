"""A length of time as a person writes it: `30d`, `12h`, `P30D`'s like are not taken."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_SECONDS: Final = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_FORM: Final = re.compile(r"(\d{1,9})\s*(s|min|h|d|w)")


class Duration(click.ParamType[int]):
    """Whole seconds, from a number with its unit: s, min, h, d or w."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _FORM.fullmatch(str(value).strip())
        if match is None or not int(match[1]):
            self.fail(
                f"{value!r} is no length of time; write a number with its unit, s, min, h, d or w: 90d.", param, ctx
            )
        return int(match[1]) * _SECONDS[match[2]]
