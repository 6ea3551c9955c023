"""Commands that srfix prints."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.commands import CommandLine, GivenOption, in_pieces, positional, srfix_command
from srfix.serde.printable import is_printable


class TestSrfixCommand:
    def test_plain_names_stand_as_they_are(self) -> None:
        assert srfix_command("plan", "--application", "shop") == "srfix plan --application shop"

    @given(arguments=st.lists(st.text().filter(lambda text: is_printable(text.replace("\n", "")))))
    def test_a_shell_takes_it_apart_into_the_arguments_that_were_meant(self, arguments: list[str]) -> None:
        assert shlex.split(srfix_command(*arguments)) == ["srfix", *arguments]


GIVEN = CommandLine(
    options=(
        GivenOption(name="--bootstrap-servers", value="kafka:9092"),
        GivenOption(name="--application", value="shop"),
        GivenOption(name="--source", value="a=b c"),
        GivenOption(name="--deadline", value="3"),
        GivenOption(name="--decode-values"),
    ),
    withheld=(GivenOption(name="-X", value="sasl.password"), GivenOption(name="--ksqldb-user")),
)


@pytest.mark.core
class TestGiven:
    def test_a_command_repeats_what_it_knows_and_nothing_else(self) -> None:
        where = "--bootstrap-servers kafka:9092"
        assert GIVEN.command("rollback", "p.journal.jsonl") == f"srfix rollback {where} p.journal.jsonl"
        assert GIVEN.command("explain", "SRF001") == "srfix explain SRF001"
        assert GIVEN.command("plan", "-o", "p.json") == (
            f"srfix plan {where} --application shop --source 'a=b c' --deadline 3 -o p.json"
        )
        assert GIVEN.command("diagnose").endswith("--decode-values")

    def test_what_the_command_says_itself_takes_the_place_of_what_was_given(self) -> None:
        assert GIVEN.command("subjects", "--application", "other") == (
            "srfix subjects --bootstrap-servers kafka:9092 --application other"
        )

    def test_what_may_be_repeated_is_added_once(self) -> None:
        assert GIVEN.command("plan", "--source", "c=d").count("--source") == 2
        assert GIVEN.command("plan", "--source", "a=b c").count("--source") == 1

    def test_a_verification_is_not_hurried(self) -> None:
        assert "--deadline" not in GIVEN.command("verify", "p.json")

    def test_a_secret_is_asked_for_and_not_printed(self) -> None:
        assert GIVEN.quoted("apply", "p.json") == (
            "`srfix apply --bootstrap-servers kafka:9092 p.json` (give -X sasl.password=… again: srfix prints no secret)"
        )
        assert GIVEN.left_out("plan", "apply") == "give -X sasl.password=…, --ksqldb-user again: srfix prints no secret"
        assert GIVEN.left_out("explain") == CommandLine().left_out("plan") == ""

    def test_it_says_what_was_given(self) -> None:
        assert GIVEN.has("--application")
        assert not GIVEN.has("--store")


class TestInPieces:
    @given(arguments=st.lists(st.text()), before=st.text("abc "), after=st.text("abc "))
    def test_a_command_is_found_whole_whatever_names_are_in_it(
        self, arguments: list[str], before: str, after: str
    ) -> None:
        command = srfix_command(*arguments)
        sentence = f"{before}`{command}`{after}"
        assert [piece for piece in in_pieces(sentence) if piece[1]] == [(command, True)]
        assert "".join(f"`{piece}`" if is_command else piece for piece, is_command in in_pieces(sentence)) == sentence


class TestPositional:
    def test_a_name_that_begins_with_a_hyphen_is_no_option(self) -> None:
        assert positional("users") == ("users",)
        assert positional("-users") == ("--", "-users")
