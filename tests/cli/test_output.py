"""Formats: nothing is shortened, nothing from outside moves a cursor, every block stands in every format."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from srfix.cli.output.interface import (
    Bars,
    Block,
    Commands,
    FieldList,
    Folded,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Report,
    Table,
    Tone,
    Verdict,
)
from srfix.cli.output.speaking import write_report
from srfix.serde.printable import printable
from tests.cli.every_block import blocks_of

SUBJECT = "_confluent-ksql-default_query_CSAS_J_0-" + "KafkaTopic_Right-" * 20 + "Reduce-changelog-value"
REPORT = Report(
    document={"schema": "srfix.test/1", "ids": [1, 2], "words": "naïve"},
    blocks=(
        Heading("A heading"),
        Heading("A lesser one", level=2),
        Paragraph("A sentence [red]with brackets[/red] and :smile:."),
        ItemList(("first", "second"), is_numbered=True),
        ItemList(("third",)),
        FieldList((("subject", SUBJECT), ("nothing", ""))),
        Commands(("srfix plan -o p.json",)),
        Table(("id", "subject"), (("1", SUBJECT), ("2", "a|b")), title="Ids"),
    ),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def render(output: OutputFormat, stream: io.StringIO | None = None, report: Report = REPORT) -> str:
    stream = io.StringIO() if stream is None else stream
    write_report(report, output, stream)
    return stream.getvalue()


def of(*blocks: Block, **parts: Any) -> Report:
    return Report(**{"document": {}, "blocks": blocks} | parts)


class TestTable:
    def test_without_a_terminal_every_subject_stands_on_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        text = render(OutputFormat.TABLE)
        assert sum(SUBJECT in line for line in text.splitlines()) == 2
        assert "\x1b" not in text
        assert "…" not in text

    def test_without_a_terminal_a_row_is_a_line(self) -> None:
        rows = (("a", "soft deleted", "x\ny"), ("long-name", "", ""), ("界", "live", "z"))
        assert render(OutputFormat.TABLE, report=of(Table(("subject", "state", "of"), rows))) == (
            "subject     state          of\n"
            "a           soft deleted   x\\ny\n"
            "long-name   -              -\n"
            "界          live           z\n"
        )

    def test_on_a_narrow_terminal_text_is_folded_and_a_subject_is_neither_broken_nor_shortened(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "50")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        text = re.sub(r"\x1b\[[0-9;]*m", "", render(OutputFormat.TABLE, Terminal()))
        assert {len(line.split()) for line in text.splitlines() if len(line) > 50} == {1}
        assert "…" not in text
        assert text.split().count(SUBJECT) == 2

    def test_a_table_without_room_for_a_name_is_a_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "30")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        name = "my-application-my-store-changelog"
        rows = ((name, "live", "a"), ("7", "soft-deleted", name))
        assert render(OutputFormat.TABLE, Terminal(), of(Table(("subject", "state", "of"), rows))).splitlines() == [
            name,
            "  state live, of a",
            "- subject 7",
            "  state soft-deleted, of",
            name,
        ]

    @example(
        rows=[
            (
                ["shop-users-store"],
                ["Kafka-Streams-"],
                ["reuses", "the", "source", "topic"],
                ["users-store-changelog-topic"],
            )
        ],
        columns=80,
    )
    @given(
        rows=st.integers(1, 5).flatmap(
            lambda columns: st.lists(
                st.tuples(*[st.lists(st.text("abcdefgh", min_size=1, max_size=26), max_size=4)] * columns),
                min_size=1,
                max_size=4,
            )
        ),
        columns=st.integers(40, 120),
    )
    def test_no_word_of_a_table_is_cut(self, rows: list[tuple[list[str], ...]], columns: int) -> None:
        """Seen wrong at 80 columns: the end of a changelog's name was not there."""
        cells = tuple(tuple(" ".join(words) for words in row) for row in rows)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in {"COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}.items():
                patched.setenv(name, value)
            text = render(OutputFormat.TABLE, Terminal(), of(Table(("head",) * len(cells[0]), cells)))
        shown = re.sub(r"\x1b\[[0-9;]*m|[,]", "", text).split()
        assert not {word for row in rows for words in row for word in words}.difference(shown)

    def test_no_color_is_honoured_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", render(OutputFormat.TABLE, Terminal()))

    def test_brackets_and_colons_are_text(self) -> None:
        assert "A sentence [red]with brackets[/red] and :smile:." in render(OutputFormat.TABLE)

    @pytest.mark.parametrize(
        ("command", "printed"),
        [
            ("srfix diagnose --application " + "a" * 100, "  srfix diagnose \\\n      --application " + "a" * 100),
            (
                "srfix plan --store 'a b' -o 'it'\"'\"'s'",
                "  srfix plan \\\n      --store 'a b' \\\n      -o 'it'\"'\"'s'",
            ),
            ("srfix plan --yes -- -x y", "  srfix plan --yes -- \\\n      -x y"),
            ('srfix plan "${SRFIX_WORD_1:?set it}"', '  srfix plan "${SRFIX_WORD_1:?set it}"'),
            ("srfix plan --store 'a\nb' --yes", "  srfix plan --store 'a\nb' --yes"),
        ],
    )
    def test_a_command_goes_on_behind_a_backslash_and_is_the_same_to_a_shell(
        self, monkeypatch: pytest.MonkeyPatch, command: str, printed: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", "24")
        assert render(OutputFormat.TABLE, Terminal(), of(Commands((command,)))) == f"{printed}\n"
        if "$" not in command:
            assert shlex.split(printed.replace("\\\n", " ")) == shlex.split(command)

    @pytest.mark.parametrize("block", [Paragraph, lambda text: ItemList(("short", text), is_numbered=True)])
    def test_nor_is_one_in_a_sentence(self, monkeypatch: pytest.MonkeyPatch, block: Callable[[str], Block]) -> None:
        monkeypatch.setenv("COLUMNS", "90")
        command = "srfix diagnose --application 'it is `" + "a" * 40 + "`'"
        report = Report(document={}, blocks=(block(f"A sentence with a command: `{command}`, and what comes then."),))
        lines = [
            line.strip()
            for line in re.sub(r"\x1b\[[0-9;]*m", "", render(OutputFormat.TABLE, Terminal(), report)).splitlines()
        ]
        assert command in lines
        assert lines[lines.index(command) + 1] == "and what comes then."


@pytest.mark.core
class TestJson:
    def test_it_is_one_document_in_ascii(self) -> None:
        text = render(OutputFormat.JSON)
        assert json.loads(text) == REPORT.document
        assert text.isascii()
        assert text.endswith("}\n")


class TestMarkdown:
    def test_every_block_has_its_form(self) -> None:
        text = render(OutputFormat.MARKDOWN)
        for line in (
            "## A heading",
            "### A lesser one",
            "A sentence `[red]with` `brackets[/red]` and :smile:.",
            "1. first",
            "2. second",
            "- third",
            "```sh",
            "srfix plan -o p.json",
            "| id | subject |",
            "|---|---|",
            "| 2 | <code>a&#124;b</code> |",
        ):
            assert line in text.splitlines()

    @pytest.mark.parametrize(
        "text",
        [
            "_a_ *b* ~~c~~ [d](e) <f> &amp; `g` # h",
            "# no heading",
            "1. no list",
            "- no list",
            "+ no list",
            "> no quote",
            "===",
            "---",
            "a\\*b",
            "``",
            "<!-- no comment -->",
            "![no](picture)",
        ],
    )
    @pytest.mark.parametrize(
        "block", [Paragraph, lambda text: ItemList((text,)), Heading, lambda text: Table(("a",), ((f"{text}|",),))]
    )
    def test_nothing_in_a_text_is_markup(self, text: str, block: Callable[[str], Block]) -> None:
        *_, inline = (
            token
            for token in MarkdownIt("commonmark")
            .enable(["table", "strikethrough"])
            .parse(render(OutputFormat.MARKDOWN, report=of(block(text))))
            if token.type == "inline"
        )
        found = [child for child in inline.children or () if child.content not in ("<code>", "</code>")]
        assert {child.type for child in found} <= {"text", "code_inline", "text_special"}
        assert "".join(child.content for child in found).removesuffix("|") == text

    def test_the_names_of_the_document_are_code(self) -> None:
        document: dict[str, Any] = {
            "findings": [{"subject": "shop-value", "source": {"topic": "users"}, "store": "a b"}]
        }
        blocks = (Paragraph("Topic users, and subject shop-value; all users-x of a b."),)
        text = render(OutputFormat.MARKDOWN, report=of(*blocks, document=document))
        assert text == "Topic `users`, and subject `shop-value`; all users-x of `a b`.\n"

    def test_a_command_in_a_sentence_is_code(self) -> None:
        blocks = (Paragraph("Run [this]: `srfix plan --store 'a_`b`' -o p.json`."), ItemList(("`srfix doctor`",)))
        text = render(OutputFormat.MARKDOWN, report=of(*blocks))
        assert text == "Run `[this]`: ``srfix plan --store 'a_`b`' -o p.json``.\n\n- `srfix doctor`\n"

    def test_the_verdict_stands_first_with_what_was_looked_at(self) -> None:
        verdict = Verdict(text="1 finding: broken", tone=Tone.BAD, more="1 store examined.")
        where = (("cluster", "kafka:9092"), ("registry", None))
        blocks = (Heading("SRF001"), Heading("SRF005"))
        assert render(OutputFormat.MARKDOWN, report=of(*blocks, verdict=verdict, where=where)) == (
            "## 1 finding: broken\n\n1 store examined. Looked at: cluster kafka:9092.\n\n## SRF001\n\n## SRF005\n"
        )

    def test_details_are_folded_and_markdown_goes_on_in_them(self) -> None:
        blocks = (
            Folded("Why <b>|", (Paragraph("A *b*."), Paragraph("Not that.", is_warning=True)), is_open=True),
            Paragraph("After."),
        )
        assert render(OutputFormat.MARKDOWN, report=of(*blocks)) == (
            "<details open><summary>Why &lt;b&gt;|</summary>\n\nA `*b*`.\n\n**Mind:** Not that.\n\n</details>\n\nAfter.\n"
        )

    def test_what_a_ticket_does_not_take_is_left_out_of_what_is_folded_and_said(self) -> None:
        stream = io.StringIO()
        long = (Paragraph("word " * 5_000),)
        blocks = (
            Folded("First", long),
            Folded("Second", long),
            Folded("Open", long, is_open=True),
            Paragraph("a" * 40_000),
        )
        for shown in (blocks[:2], blocks):
            stream = io.StringIO()
            write_report(Report(document={}, blocks=shown), OutputFormat.MARKDOWN, stream)
            left_out = [line for line in stream.getvalue().splitlines() if "left out" in line]
            assert left_out[-1] == "Second: left out, because a ticket cannot hold more. See --output html."
            assert len(left_out) == len(shown) // 2
            assert ("a" * 10_000 in stream.getvalue()) == (len(shown) == 4)

    def test_bars_are_a_table_of_numbers(self) -> None:
        blocks = (Bars(("partition", "id 1"), (("0", (1_000,)),), title="Values"),)
        text = render(OutputFormat.MARKDOWN, report=of(*blocks))
        assert text == "**Values**\n\n| partition | id 1 |\n|---|---|\n| 0 | 1,000 |\n"


class TestPrintable:
    @pytest.mark.parametrize("hostile", ["\x1b[2J", "\r", "\x07", "\x9b31m", "\u202e", "\x00"])
    @pytest.mark.parametrize("output", [OutputFormat.TABLE, OutputFormat.MARKDOWN, OutputFormat.HTML])
    def test_a_name_from_outside_cannot_move_the_cursor(self, hostile: str, output: OutputFormat) -> None:
        assert hostile[0] not in render(output, report=of(*blocks_of(hostile)))

    def test_it_says_what_stood_there(self) -> None:
        assert printable("a\x1b[31mb\u202e") == "a\\x1b[31mb\\u202e"


class TestALongName:
    def test_a_table_takes_time_in_proportion_to_it(self) -> None:
        """The blanks that pad the other rows to a name's width were looked at once for each of them: minutes."""
        code = (
            "import io, resource\n"
            "from srfix.cli.output import table\n"
            "from srfix.cli.output.interface import Report, Table\n"
            "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
            "rows = (('n' * 50_000, 'b'), *(('a', 'b'),) * 20)\n"
            "stream = io.StringIO()\n"
            "table.render(Report(document={}, blocks=(Table(('name', 'x'), rows),)), stream)\n"
            "assert 'n' * 50_000 in stream.getvalue()\n"
            "assert not any(line.endswith(' ') for line in stream.getvalue().splitlines())\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, (done.returncode, done.stderr)
