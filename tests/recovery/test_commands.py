"""Commands that srfix prints."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.commands import srfix_command


class TestSrfixCommand:
    def test_plain_names_stand_as_they_are(self) -> None:
        assert srfix_command("plan", "--application", "shop") == "srfix plan --application shop"

    @given(arguments=st.lists(st.text()))
    def test_a_shell_takes_it_apart_into_the_arguments_that_were_meant(self, arguments: list[str]) -> None:
        assert shlex.split(srfix_command(*arguments)) == ["srfix", *arguments]
