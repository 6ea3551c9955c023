"""`srfix explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from srfix.cli.command_line import cli
from srfix.cli.commands.explain import explain
from srfix.cli.exit_codes import ExitCode
from srfix.recovery.checks.interface import Check
from srfix.recovery.explain.catalogue import CATALOGUE
from srfix.serde.errors import UsageError

TRACE = (
    "Caused by: DataException: Failed to deserialize data for topic app-users-changelog to Avro:\n"
    "Caused by: SerializationException: Error retrieving Avro value schema version for id 7\n"
    "Caused by: RestClientException: Schema not found; error code: 40403\n"
)


def run(*arguments: str, stdin: str | bytes = "") -> tuple[int, Result]:
    result = CliRunner().invoke(explain, arguments, input=stdin, standalone_mode=False, **cli.context_settings)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, ExitCode)
    return result.return_value, result


class TestACode:
    @pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.code)
    @pytest.mark.parametrize("output", ["table", "json", "markdown"])
    def test_every_code_is_explained_in_every_format(self, known: Check, output: str) -> None:
        code = known.code
        exit_code, result = run(code, "--output", output)
        assert exit_code == ExitCode.OK
        assert code in result.stdout

    def test_json_holds_the_whole_entry(self) -> None:
        _, result = run("srf011", "--output", "json")
        document = json.loads(result.stdout)
        assert document["schema"] == "srfix.catalogue/1"
        (code,) = document["codes"]
        assert (code["code"], code["severity"], code["checked_since"]) == ("SRF011", "broken", "0.1.0")
        assert code["remedy"].endswith(".")

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("SRF01", "Did you mean SRF001 or SRF010 or SRF011 or SRF012? "),
            ("srf1", "Did you mean SRF001? "),
            ("SRF-012", "Did you mean SRF012? "),
            ("SRF 12", "Did you mean SRF012? "),
            ("SRF021", "Did you mean SRF012? "),
            ("SRF999", ""),
            ("stack.txt", ""),
        ],
    )
    def test_an_unknown_code_is_refused_with_the_near_ones_and_the_way_out(self, typed: str, meant: str) -> None:
        with pytest.raises(UsageError, match=rf"^'{typed}' is neither a finding code .* {re.escape(meant)}") as refused:
            run(typed)
        assert ("Did you mean" in refused.value.message) is bool(meant)
        assert "Run `srfix explain` for the list" in refused.value.message


class TestATrace:
    def test_from_a_file_even_one_that_powershell_wrote(self, tmp_path: Path) -> None:
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            file = tmp_path / f"{encoding}.log"
            file.write_text(TRACE, encoding=encoding)
            code, result = run(str(file), "--output", "json")
            assert (code, json.loads(result.stdout)["schema_id"]) == (ExitCode.OK, 7)

    def test_its_json_names_everything(self) -> None:
        _, result = run("-", "--output", "json", stdin=TRACE)
        document = json.loads(result.stdout)
        expected = {
            "schema": "srfix.explanation/1",
            "recognised": True,
            "symptom": "phantom-lookup",
            "code": "SRF001",
            "schema_id": 7,
            "role": "value",
            "topic": "app-users-changelog",
            "topic_kind": "changelog",
            "subject": "app-users-changelog-value",
            "error_code": 40403,
            "application": "app",
            "store": "users",
        }
        assert {name: document[name] for name in expected} == expected

    def test_what_is_not_recognised_is_said_and_exits_with_2(self) -> None:
        code, result = run("-", stdin=b"\xff\xfe\x00 not a trace")
        assert code == ExitCode.REFUSED
        assert result.stdout.startswith("Not recognised")
        assert "srfix diagnose" in result.stdout
        code, result = run("-", "--output", "json", stdin="hello")
        assert (code, json.loads(result.stdout)["recognised"]) == (ExitCode.REFUSED, False)

    @pytest.mark.parametrize("text", ["", " \n\n"])
    def test_nothing_is_no_trace(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"^The text is empty\. Paste the stack trace, down to"):
            run("-", stdin=text)

    def test_of_a_long_file_the_end_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "long.log"
        with file.open("w", encoding="utf-8") as stream:
            for _ in range(40):
                stream.write("INFO nothing of interest here\n" * 35_000)
            stream.write(TRACE)
        code, result = run(str(file), "--output", "json")
        document = json.loads(result.stdout)
        assert (code, document["schema_id"], document["only_the_end_was_read"]) == (ExitCode.OK, 7, True)

    def test_a_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"nor a file\."):
            run(str(tmp_path))
