"""The catalogue is complete, and says what it promises."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.explain.catalogue import CATALOGUE, entry
from srfix.recovery.findings import Severity

CODES = [f"SRF{number:03d}" for number in range(1, len(CATALOGUE) + 1)]


class TestCatalogue:
    def test_it_holds_every_code_once_and_in_order(self) -> None:
        assert [known.code for known in CATALOGUE] == CODES

    @pytest.mark.parametrize("known", CATALOGUE, ids=CODES)
    def test_every_part_is_written_and_every_sentence_ends(self, known: Check) -> None:
        for part in ("meaning", "cause", "detection", "remedy"):
            assert getattr(known, part).endswith("."), part
        assert not known.title.endswith(".")

    @pytest.mark.parametrize("known", CATALOGUE, ids=CODES)
    def test_every_severity_is_one_that_findings_have(self, known: Check) -> None:
        assert Severity(known.severity).value == known.severity

    @pytest.mark.parametrize("known", CATALOGUE, ids=CODES)
    def test_every_code_that_is_mentioned_exists(self, known: Check) -> None:
        texts = " ".join(str(getattr(known, field.name)) for field in fields(known))
        assert set(re.findall(r"SRF\d+", texts)) <= set(CODES)

    def test_it_says_which_codes_this_version_looks_for(self) -> None:
        assert [known.code for known in CATALOGUE if known.checked_since] == [check.code for check in CHECKS]


class TestEntry:
    @pytest.mark.parametrize("typed", ["SRF001", "srf001", " Srf001\n"])
    def test_a_code_is_found_however_it_was_typed(self, typed: str) -> None:
        found = entry(typed)
        assert found is not None
        assert found.code == "SRF001"

    @pytest.mark.parametrize("typed", ["SRF000", "SRF099", "SRF1", "SRF0011", "001", "", "SRF٠٠١"])
    def test_an_unknown_code_is_none(self, typed: str) -> None:
        assert entry(typed) is None
