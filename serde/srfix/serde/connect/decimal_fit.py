"""Whether a decimal fits DECIMAL(precision, scale): ksqlDB's `DecimalUtil.ensureFit`, which never rounds.

Zeros behind the last digit are no digits: 1.50 fits DECIMAL(2, 1). What does not fit has too many digits in front of the
point, or would lose some behind it.
"""

from __future__ import annotations

import decimal
from typing import Final, NamedTuple

from srfix.serde.columns.types import MAX_DIGITS

NOT_FITTING: Final = (decimal.Inexact, decimal.InvalidOperation)
"""What `quantize` raises for a number that does not fit."""


class DecimalFit(NamedTuple):
    """What `number.quantize(unit, None, exact)` gives the fitting number with: exactly of the scale, or `NOT_FITTING`.

    Parts instead of a function: a call per value would cost as much as the work. Keywords, too.
    """

    unit: decimal.Decimal
    """1 at the last digit."""
    exact: decimal.Context
    """Wide enough for all that fits, and at most `MAX_DIGITS` wide."""
    low: decimal.Decimal
    """-`bound`: a minus would go through the caller's context, and its greatest exponent."""
    bound: decimal.Decimal
    """The least size that has too many digits in front of the point."""

    def is_within(self, number: decimal.Decimal) -> bool:
        """False if the number has too many digits in front of the point."""
        return self.low < number < self.bound


def decimal_fit(precision: int, scale: int) -> DecimalFit:
    """The parts for DECIMAL(precision, scale)."""
    bound = decimal.Decimal((0, (1,), precision - scale))
    exact = decimal.Context(
        prec=min(max(precision, 1), MAX_DIGITS),
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
        traps=list(NOT_FITTING),
    )
    return DecimalFit(decimal.Decimal((0, (1,), -scale)), exact, bound.copy_negate(), bound)
