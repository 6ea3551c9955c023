"""The page of `--output html`: well formed, of text alone, in an order that a person reads in."""

from __future__ import annotations

import io
import re
from importlib.metadata import version
from typing import Any, get_args
from xml.etree.ElementTree import Element

import pytest

from srfix.cli.output.interface import (
    Bars,
    Block,
    CarriedId,
    Commands,
    Heading,
    OutputFormat,
    Paragraph,
    Picture,
    Report,
    Table,
    Tone,
    Verdict,
)
from srfix.cli.output.speaking import write_report
from srfix.serde.printable import printable
from tests.cli.every_block import HOSTILE, blocks_of
from tests.cli.kept_demo import Parts
from tests.cli.pages import assert_is_a_page, elements, text_of
from tests.cli.test_output import Terminal


def report_of(text: str) -> Report:
    document: dict[str, Any] = {"schema": text, "generated_at": text, "registry": text, "subject": text, "srfix": text}
    return Report(
        document=document,
        blocks=blocks_of(text),
        verdict=Verdict(text=f"so: {text}", tone=Tone.BAD, more=text),
        where=(("cluster", text), (text, text)),
    )


def page_of(report: Report) -> str:
    stream = io.StringIO()
    write_report(report, OutputFormat.HTML, stream)
    return stream.getvalue()


def of_name(root: Element, name: str) -> list[str]:
    return ["".join(each.itertext()) for found, each in elements(root) if found == name]


class TestEveryBlock:
    def test_there_is_one_of_each_kind_in_these_tests(self) -> None:
        assert {type(block) for block in blocks_of("a")} == set(get_args(Block))

    def test_each_has_its_form(self) -> None:
        root = assert_is_a_page(page_of(report_of("some words")))
        assert of_name(root, "h1") == ["so: some words"]
        assert of_name(root, "h2")[:2] == ["What to do now", "some words"]
        assert "some words\nsome words" in of_name(root, "pre")
        assert of_name(root, "caption") == ["some words"] * 6
        assert "some words" in of_name(root, "summary")
        assert "srfix plan --store some words" in of_name(root, "code")
        figure = of_name(root, "figure")[0]
        for said in ("id 7 is missing", "id 7 is there", "id 7 perhaps, in rows on disk", "phantom subject"):
            assert said in re.sub(r"\s+", " ", figure)

    def test_a_bar_is_as_long_as_its_number_and_says_it(self) -> None:
        rows = (("0", (1_000, 0)), ("1", (250, 1)))
        root = assert_is_a_page(page_of(Report(document={}, blocks=(Bars(("p", "a", "b"), rows, title="t"),))))
        bars = [each.get("width") for name, each in elements(root) if name == "rect" and each.get("class") == "bar"]
        assert bars == ["100.00", "25.00", "0.50"]
        assert [text for text in of_name(root, "td") if text] == ["1,000", "0", "250", "1"]

    def test_no_cell_and_no_command_is_shortened(self) -> None:
        name = "n" * 50_000
        blocks = (Commands((f"srfix plan --store {name}",)), Table(("a", "b"), (("1", name),)))
        root = assert_is_a_page(page_of(Report(document={}, blocks=blocks)))
        assert of_name(root, "pre") == [f"srfix plan --store {name}"]
        assert name in of_name(root, "td")

    def test_of_many_ids_in_a_picture_the_rest_is_counted(self) -> None:
        many = tuple(range(100))
        picture = Picture(
            topic=None,
            application="a",
            store="s",
            subject="t-value",
            is_phantom=False,
            carried=tuple(CarriedId(schema_id=number, where="") for number in many),
            kept=many,
            held=many,
            lacking=many,
        )
        figure = of_name(assert_is_a_page(page_of(Report(document={}, blocks=(picture,)))), "figure")[0]
        assert figure.count("76 more") == 4
        assert "80 more" in figure  # the sentence names twenty


class TestOrder:
    VERDICT = Verdict(text="One thing is wrong", tone=Tone.BAD)
    BLOCKS: tuple[Block, ...] = (
        Heading("The thing"),
        Paragraph("It is wrong."),
        Paragraph("To repair it:"),
        Commands(("srfix plan",)),
        Paragraph("Add the secret.", is_of_commands=True),
        Paragraph("Do not wipe.", is_warning=True),
    )

    def test_the_verdict_comes_first_then_the_warning_and_the_commands_then_the_rest(self) -> None:
        root = assert_is_a_page(page_of(Report(document={}, blocks=self.BLOCKS, verdict=self.VERDICT)))
        said = text_of(root)
        order = [
            "One thing is wrong",
            "Do not wipe.",
            "To repair it:",
            "srfix plan",
            "Add the secret.",
            "The thing",
            "It is wr",
        ]
        assert [said.index(words) for words in order] == sorted(said.index(words) for words in order)

    def test_without_a_verdict_the_first_heading_is_it_and_commands_stay_where_they_are(self) -> None:
        root = assert_is_a_page(page_of(Report(document={}, blocks=self.BLOCKS)))
        assert of_name(root, "h1") == ["The thing"]
        said = text_of(root)
        assert said.index("It is wrong.") < said.index("srfix plan\n")
        assert said.count("The thing") == 1


class TestAbout:
    def test_it_says_of_what_when_and_by_what_it_was_made(self) -> None:
        document: dict[str, Any] = {"schema": "srfix.diagnosis/2", "generated_at": "2026-05-04T03:12:09+00:00"}
        where = (("cluster", "kafka:9092"), ("registry", "http://registry:8081"), ("nothing", None))
        root = assert_is_a_page(page_of(Report(document=document, blocks=(Heading("a"),), where=where)))
        assert of_name(root, "title") == ["srfix diagnosis: kafka:9092: http://registry:8081"]
        assert of_name(root, "time") == ["2026-05-04 03:12:09 UTC"]
        assert of_name(root, "dt") == ["cluster", "registry", "made", "by"]
        assert of_name(root, "dd")[-1] == f"srfix {version('srfix')}"


class TestHostile:
    def test_the_page_is_ascii_and_shows_every_letter(self) -> None:
        page = page_of(report_of("Bücher-топик-表-🙈"))
        assert page.isascii()
        assert "Bücher-топик-表-🙈" in text_of(assert_is_a_page(page))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_name_stays_text(self, text: str) -> None:
        plain, hostile = (assert_is_a_page(page_of(report_of(words))) for words in ("words", text))
        assert [name for name, _each in elements(hostile) if name != "code"] == [
            name for name, _each in elements(plain) if name != "code"
        ]
        shown = printable(text).replace("\r", "")
        assert shown in text_of(hostile)


class TestCommand:
    def test_a_terminal_is_told_to_send_it_to_a_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        stream = Terminal()
        write_report(Report(document={}, blocks=(Heading("a"),)), OutputFormat.HTML, stream)
        assert stream.getvalue().startswith("<!DOCTYPE html>\n")
        assert "Run the command again with > report.html at its end" in capsys.readouterr().err

    def test_a_diagnosis_has_the_picture_of_each_finding_and_ends_as_ever(self, parts: Parts) -> None:
        done = parts.srfix("diagnose", "--output", "html")
        assert done.returncode == 1
        root = assert_is_a_page(done.stdout)
        assert of_name(root, "h1") == ["1 finding: broken"]
        (figure,) = of_name(root, "figure")
        said = re.sub(r"\s+", " ", figure)
        assert "id 1 4 live keys, partitions 0-2" in said
        assert "✗ id 1 is missing ✗ id 2 is missing ✓ id 3 is there" in said
        assert parts.staged.phantom_subject in said
        where = f"--bootstrap-servers {parts.broker.bootstrap_servers} --registry {parts.registry.url}"
        assert f"srfix plan {where} -o plan.json" in of_name(root, "pre")[0]
        assert {"cluster", "registry"} <= set(of_name(root, "dt"))
        assert "Evidence" in of_name(root, "h3")
        assert any("Evidence" in text for text in of_name(root, "details"))

    @pytest.mark.parametrize("command", [("subjects",), ("doctor",), ("explain", "SRF001"), ("decode", "users")])
    def test_other_commands_have_a_page_of_their_blocks(self, parts: Parts, command: tuple[str, ...]) -> None:
        done = parts.srfix(*command, "--output", "html")
        assert done.returncode in {0, 1, 2}
        assert_is_a_page(done.stdout)
