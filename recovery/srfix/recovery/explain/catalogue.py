"""The meaning of each finding code: the table behind `srfix explain`. The codes are stable."""

from __future__ import annotations

import re
from typing import Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.recovery.documents import Code, Part, VersionedDocument
from srfix.recovery.severity import Severity

CATALOGUE: Final[tuple[Check, ...]] = CHECKS

_CODE = re.compile(r"(?i)srf(\d{3})")
_NEARLY_A_CODE = re.compile(r"(?i)\s*srf[-_ ]?(\d{1,6})\s*")
_MOST_NEAR = 4


class ExplainedCode(Part):
    """A finding code. In its texts each line is a paragraph, or an item of a list if it begins with `- `."""

    code: Code
    title: str
    severity: Severity
    """How bad it usually is."""
    meaning: str
    cause: str
    detection: str
    remedy: str
    checked_since: str | None
    """The first version of srfix that looks for it; null if none does yet."""


class Catalogue(VersionedDocument, tag="srfix.catalogue/1"):
    """The finding codes: `srfix explain`."""

    codes: list[ExplainedCode]


def entry(code: str) -> Check | None:
    """The entry of a code, in whatever letter case it was typed; None if there is no such code."""
    match = _CODE.fullmatch(code.strip())
    return None if match is None else BY_CODE.get(f"SRF{match[1]}")


def near_codes(code: str) -> list[str]:
    """The codes that a person may have meant with an unknown one; empty if it does not look like a code."""
    match = _NEARLY_A_CODE.fullmatch(code)
    if match is None:
        return []
    meant = f"SRF{int(match[1]):03}"  # SRF1, SRF-0001
    typed = f"SRF{match[1]}"
    near = [
        catalogue_code
        for catalogue_code in BY_CODE
        if catalogue_code == meant or catalogue_code.startswith(typed) or sorted(catalogue_code) == sorted(typed)
    ]
    return near[:_MOST_NEAR]
