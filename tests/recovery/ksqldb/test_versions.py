"""ksqlDB's own version numbers and those of Confluent Platform, in one comparison."""

from __future__ import annotations

import pytest

from srfix.recovery.ksqldb.versions import is_at_least


class TestIsAtLeast:
    @pytest.mark.parametrize(
        ("version", "says"),
        [
            ("0.12.9", False),
            ("0.13.0", True),
            ("0.13", True),
            ("5.5.3", False),
            ("6.0.9", False),
            ("v6.1.0-ccs", True),
            ("unknown", None),
            ("", None),
        ],
    )
    def test_each_counts_by_its_own_numbers(self, version: str, says: bool | None) -> None:
        assert is_at_least(version, ksqldb=(0, 13, 0), platform=(6, 1, 0)) is says
