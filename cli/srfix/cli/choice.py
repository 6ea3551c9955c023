"""A value that is one of a few words."""

from __future__ import annotations

from typing import Any

import click

from srfix.serde.hints import nearest


class Choice(click.Choice[str]):
    """As click's; another value is refused with the word that it is nearly."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """What is wrong with a value, and which word it may have meant."""
        refused = super().get_invalid_choice_message(value, ctx)
        near = nearest(str(value)[:100], self.choices)
        return refused if near is None else f"{refused} Did you mean {near}?"
