"""Every check, in the order of their codes: a new one is a module and a row here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from srfix.recovery.checks import (
    srf001,
    srf002,
    srf003,
    srf004,
    srf005,
    srf006,
    srf007,
    srf008,
    srf009,
    srf010,
    srf011,
    srf012,
    srf013,
    srf014,
    srf015,
    srf016,
    srf017,
    srf018,
    srf019,
    srf020,
)
from srfix.recovery.checks.interface import Check

CHECKS: Final[tuple[Check, ...]] = (
    srf001.CHECK,
    srf002.CHECK,
    srf003.CHECK,
    srf004.CHECK,
    srf005.CHECK,
    srf006.CHECK,
    srf007.CHECK,
    srf008.CHECK,
    srf009.CHECK,
    srf010.CHECK,
    srf011.CHECK,
    srf012.CHECK,
    srf013.CHECK,
    srf014.CHECK,
    srf015.CHECK,
    srf016.CHECK,
    srf017.CHECK,
    srf018.CHECK,
    srf019.CHECK,
    srf020.CHECK,
)
BY_CODE: Final[Mapping[str, Check]] = {check.code: check for check in CHECKS}
