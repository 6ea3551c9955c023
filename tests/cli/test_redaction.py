"""What the last line of defence knows for a secret, and what it leaves readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.cli.redaction import Redactor


class TestNoteProperties:
    @pytest.mark.parametrize(
        "text",
        [
            "bearer.auth.token=topsecret",
            "-Rbearer.auth.token=topsecret",
            "schema.registry.ssl.key.password=topsecret",
            "bearer.auth.client.secret=topsecret",
            "proxy=http://user:topsecret@proxy:3128",
            "--registry-property=proxy=http://user:topsecret@proxy:3128",
        ],
    )
    def test_a_secret_is_taken_out_of_any_text(self, text: str) -> None:
        redactor = Redactor()
        redactor.note_properties([text])
        assert redactor.scrub("it was topsecret.") == "it was ***."

    def test_a_password_is_hidden_percent_encoded_and_decoded(self) -> None:
        redactor = Redactor()
        redactor.note_properties(["proxy=http://user:top%40secret@proxy:3128"])
        assert redactor.scrub("top%40secret top@secret") == "*** ***"

    def test_what_a_token_file_holds_is_hidden_and_its_name_is_not(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("topsecret\n", encoding="utf-8")
        redactor = Redactor()
        redactor.note_properties([f"bearer.auth.token=file:{tmp_path / 'token'}"])
        assert redactor.scrub(f"file:{tmp_path / 'token'} topsecret") == f"file:{tmp_path / 'token'} ***"

    @pytest.mark.parametrize(
        "text", ["bearer.auth.credentials.source=STATIC_TOKEN", "basic.auth.credentials.source=USER_INFO"]
    )
    def test_the_name_of_a_source_of_credentials_stays_readable(self, text: str) -> None:
        redactor = Redactor()
        redactor.note_properties([text])
        assert redactor.scrub("USER_INFO, URL or STATIC_TOKEN") == "USER_INFO, URL or STATIC_TOKEN"


@pytest.mark.parametrize(
    "master",
    [
        "sc://h:1/;token=topsecret",
        "sc://h:1/;use_ssl=true;token=topsecret",
        "spark://me:topsecret@h:1",
        "spark://me:topsecret",
    ],
)
def test_what_a_spark_master_holds(master: str) -> None:
    given: tuple[list[str], ...] = (["--master", master], [f"--master={master}"], [])
    for arguments in given:
        environment = {} if arguments else {"SRFIX_MASTER": master}
        redactor = Redactor()
        redactor.note_arguments(arguments, environment)
        assert redactor.scrub("it was topsecret.") == "it was ***."


class TestNamesOfProperties:
    def test_a_name_that_begins_like_a_secret_stays_readable(self) -> None:
        redactor = Redactor()
        redactor.note_text("basic.auth.user.inf=ada:topsecret")
        said = (
            "did you mean basic.auth.user.info? The known properties are: basic.auth.user.info, basic.auth.user.info."
        )
        assert redactor.scrub(f"{said} topsecret") == f"{said} ***"

    @pytest.mark.parametrize("word", ["topsecret", "xtopsecret.y", "client.id.topsecret", "topsecret."])
    def test_a_secret_within_any_other_word_does_not(self, word: str) -> None:
        redactor = Redactor()
        redactor.note("topsecret")
        assert "topsecret" not in redactor.scrub(f"it was {word} and '{word}'")

    def test_a_secret_that_is_the_name_of_a_property_is_hidden(self) -> None:
        redactor = Redactor()
        redactor.note("sasl.password")
        assert redactor.scrub("it was sasl.password, not xsasl.password") == "it was ***, not x***"
