"""Text of others: what is printable, and how the rest is shown."""

from __future__ import annotations

import json
import pickle
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.serde.errors import SchemaError, SrfixError
from srfix.serde.printable import MESSAGE, bounded, foreign, is_printable, message, one_line, printable, printable_json
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError, RegistryUnreachableError

HOSTILE = (
    "\x1b[2J",  # clears the screen
    "\x1b]0;title\x07",  # OSC: the window's title
    "\x9b2J",  # the same in C1
    "\x7f",
    "\r",
    "\u202e",  # right to left
    "\u2066",
    "\u200b",  # zero width
    "\u200d",
    "\u2028",  # line separator
    "\u2029",
    "\x85",  # next line
    "\ufeff",  # BOM
    "\ud800",  # half of a surrogate pair
    "\U000e0041",  # a tag
    "\U000e0100",  # a variation selector
    "\ufe0f",
    "\u3164",  # a filler
    "\u2800",  # blank braille
    "\xa0",  # a blank that is none
    "\xad",  # soft hyphen
)
ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("".join(HOSTILE) + "`'\"$\\\n"))
"""Lone surrogates too."""


def seen(character: str) -> bool:
    """By Unicode's categories, not by the code under test."""
    category = unicodedata.category(character)
    return character == " " or category[0] not in "CZ"


class TestPrintable:
    @given(ANY_TEXT)
    @example("".join(HOSTILE))
    def test_nothing_is_left_that_nobody_sees(self, text: str) -> None:
        assert all(seen(character) or character == "\n" for character in printable(text))
        assert all(map(seen, one_line(text)))
        assert all(map(seen, foreign(text)))

    @pytest.mark.parametrize("character", HOSTILE)
    def test_each_hostile_character_is_spelt(self, character: str) -> None:
        assert not is_printable(character)
        assert printable(f"a{character}b") != f"a{character}b"
        assert printable(f"a{character}b").isascii()

    @pytest.mark.parametrize("text", ["", "shop", "Jürgen", "приложение", "日本", "🦊", "a `b` 'c' $d"])
    def test_what_can_be_seen_stays(self, text: str) -> None:
        assert printable(text) == one_line(text) == foreign(text) == printable_json(text) == text

    @given(ANY_TEXT)
    def test_json_keeps_its_value(self, text: str) -> None:
        shown = printable_json(json.dumps({text: [text]}, ensure_ascii=False))
        assert all(map(seen, shown))
        assert json.loads(shown) == {text: [text]}


class TestBounds:
    @given(ANY_TEXT, st.integers(1, 20))
    def test_foreign_text_says_how_much_is_left_out(self, text: str, limit: int) -> None:
        shown = foreign(text, limit)
        if len(text) > limit:
            assert shown == f"{one_line(text[:limit])}... ({len(text) - limit:,} more characters)"
        else:
            assert shown == one_line(text)

    def test_a_long_message_keeps_what_to_do(self) -> None:
        whole = f"The subject {'x' * 1_000_000} is wrong. Check its name."
        text = message(whole)
        assert text.startswith("The subject xxx")
        assert text.endswith("xxx is wrong. Check its name.")
        assert f"... ({len(whole) - MESSAGE:,} more characters) ..." in text
        assert len(text) < MESSAGE + 100

    @pytest.mark.parametrize("at", [10_500, 10_650, 15_000])
    def test_no_command_is_cut_in_two(self, at: int) -> None:
        """What is left of it would be another command."""
        command = f"`srfix plan --application '{'n' * 7_000}'`"
        shown = bounded(f"{'x' * at}{command} {'y' * 20_000}")
        assert "srfix" not in shown or command in shown
        assert "'" not in shown or command in shown


class TestErrors:
    @given(ANY_TEXT)
    def test_every_error_is_printable(self, text: str) -> None:
        for error in (
            SrfixError(text),
            SchemaError(f"{text!r}: {text}"),
            RegistryAnswerError(409, 409, text, text, method="GET"),
            RegistryProtocolError(status=200, content_type=text, beginning=text, url=text, problem=text),
            RegistryUnreachableError([(text, text)]),
        ):
            assert all(seen(character) or character == "\n" for character in str(error))
            assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_the_registrys_words_stay_whole_in_the_attribute(self) -> None:
        error = RegistryAnswerError(409, 409, "\x1b[2J" * 250_000, "http://registry/", method="POST")
        assert len(error.registry_message) == 1_000_000
        assert len(error.message) < 4_000
        assert "(999,400 more characters)" in error.message
