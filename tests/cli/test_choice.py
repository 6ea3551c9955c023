"""A misspelt word among a few."""

from __future__ import annotations

import pytest

from tests.cli.kept_demo import srfix

pytestmark = pytest.mark.core


class TestChoice:
    @pytest.mark.parametrize(
        ("arguments", "meant"),
        [
            (("diagnose", "--output", "jsn"), "json"),
            (("diagnose", "--fail-on", "brokn"), "broken"),
            (("plan", "--keep", "liv"), "live"),
            (("decode", "users", "--resolve", "by-di"), "by-id"),
            (("--shell-completion", "bahs"), "bash"),
        ],
    )
    def test_is_refused_with_the_one_that_it_is_like(self, arguments: tuple[str, ...], meant: str) -> None:
        done = srfix(*arguments)
        assert done.returncode == 2
        assert f" Did you mean {meant}?\n" in done.stderr

    def test_one_that_is_like_none_gets_no_suggestion(self) -> None:
        done = srfix("diagnose", "--output", "spreadsheet")
        assert done.returncode == 2
        assert "'spreadsheet' is not one of 'table', 'json', 'markdown', 'html', 'junit'.\n" in done.stderr
        assert "Did you mean" not in done.stderr
