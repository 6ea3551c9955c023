"""Every check is a module with a row, and says of itself what others go by."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from srfix.recovery import checks
from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.recovery.explain.catalogue import CATALOGUE
from srfix.recovery.repair.planning.wanted import ON_REQUEST, ONLY_ON_REQUEST

MODULES = [found.name for found in pkgutil.iter_modules(checks.__path__) if found.name.startswith("srf")]


class TestTheTable:
    @pytest.mark.core
    def test_a_module_of_a_code_has_a_row_and_a_row_has_a_module(self) -> None:
        assert [check.code.lower() for check in CHECKS] == sorted(MODULES)

    @pytest.mark.parametrize("name", MODULES)
    def test_a_module_exports_its_code_and_its_check(self, name: str) -> None:
        module = import_module(f"{checks.__name__}.{name}")
        assert module.CHECK is BY_CODE[module.CODE]

    @pytest.mark.core
    def test_every_code_of_the_catalogue_is_checked(self) -> None:
        assert sorted(BY_CODE) == [known.code for known in CATALOGUE]

    def test_a_check_that_came_after_the_first_release_names_its_own(self) -> None:
        first = {known.code for known in CATALOGUE if known.checked_since == "0.1.0"}
        assert first == {f"SRF{number:03}" for number in range(1, 21)}

    def test_what_is_repaired_on_request_alone_can_be_asked_for(self) -> None:
        assert set(ON_REQUEST) >= ONLY_ON_REQUEST

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
    def test_a_check_that_says_all_there_is_to_do_says_something(self, check: Check) -> None:
        assert check.advice.serious is not None or not check.advice.is_whole
