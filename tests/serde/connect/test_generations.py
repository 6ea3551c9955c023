"""Which generation a version is of (ksql#9238: 0.29 and 7.4 were the first that wrote Connect's properties)."""

from __future__ import annotations

import pytest

from srfix.serde import Generation, UsageError


class TestOf:
    @pytest.mark.core
    @pytest.mark.parametrize(
        "version", ["0.7.0", "0.10.2", "0.28.2", "5.5.1", "6.0.0", "7.3.2", "7.3", "v0.23.1", " 7.0.1-ccs "]
    )
    def test_up_to_0_28_and_7_3(self, version: str) -> None:
        assert Generation.of(version) is Generation.UP_TO_0_28

    @pytest.mark.parametrize("version", ["0.29.0", "0.29", "7.4.0", "7.9.9", "8.5.0-0", "v7.10.1"])
    def test_from_0_29_and_7_4(self, version: str) -> None:
        assert Generation.of(version) is Generation.FROM_0_29

    @pytest.mark.parametrize("text", ["", "7", "latest", "7.x", "0.29rc1", "-1.2", "7.4,0"])
    def test_what_is_no_version_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match=r" is not a version of ksqlDB or of its platform\. Give one such as"):
            Generation.of(text)
