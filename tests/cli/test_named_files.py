"""Whatever an option names as a file: a clear sentence and exit code 2, never a bug's 70, never waiting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.state.directory_reader import read_state_directory
from srfix.serde import UsageError, bounds
from srfix.serde.files import parse_json, write_whole
from tests.cli.kept_demo import Parts, srfix
from tests.cli.test_bad_input import sentence
from tests.special_files import special
from tests.telling import slow_but

NOWHERE = ("--registry", "http://127.0.0.1:1", "-R", "max.retries=0", "--bootstrap-servers", "127.0.0.1:1")

OPTIONS: dict[str, tuple[str, ...]] = {
    "apply PLAN": ("apply", "--yes", *NOWHERE, "FILE"),
    "verify PLAN|JOURNAL": ("verify", *NOWHERE, "FILE"),
    "rollback JOURNAL": ("rollback", "--yes", *NOWHERE, "FILE"),
    "--config": ("diagnose", "--config", "FILE"),
    "--kafka-config": ("diagnose", *NOWHERE, "--kafka-config", "FILE"),
    "--topology": ("diagnose", *NOWHERE, "--topology", "FILE"),
    "--ksqldb-text": ("diagnose", *NOWHERE, "--ksqldb-text", "FILE"),
    "--schema": ("encode", "--schema", "@FILE", "{}"),
    "a secret": ("apply", "--yes", *NOWHERE, "-R", "basic.auth.user.info=ada:file:FILE", "p.json"),
    "the registry's CA": ("diagnose", *NOWHERE, "-R", "ssl.ca.location=FILE"),
    "the registry's certificate": (
        "diagnose",
        *("--registry", "https://127.0.0.1:1", "-R", "max.retries=0", "--bootstrap-servers", "127.0.0.1:1"),
        *("-R", "ssl.certificate.location=FILE"),
    ),
    "Kafka's CA": ("diagnose", *NOWHERE, "-X", "security.protocol=ssl", "-X", "ssl.ca.location=FILE"),
    "--signature": ("apply", "--yes", "--signature", "FILE", "--signer-key", "FILE", "p.json"),
    "explain": ("explain", "FILE"),
}
"""Each option that names a file to be read, and a command with it."""

LIBRARYS = {
    *((option, "huge") for option in ("the registry's CA", "the registry's certificate", "Kafka's CA")),
    ("Kafka's CA", "directory"),
    ("Kafka's CA", "not there"),
}
"""What the library opens itself: it reads no further than the first line that is no certificate's, takes a directory of
certificates, and names its property where there is none."""

SPECIAL = ("fifo", "directory", "socket", "device", "long name", "not there", "huge")
CONTENT = {"deep": b"[" * 200_000, "lone surrogate": b'{"a": "\\ud800"}', "binary": bytes(range(256))}


class TestNoFile:
    @pytest.mark.parametrize(
        ("option", "kind"),
        # Of a log the end is read, however long it is.
        slow_but(
            ((option, kind) for option in OPTIONS for kind in SPECIAL if (option, kind) != ("explain", "huge")),
            *(("apply PLAN", kind) for kind in SPECIAL),
            *((option, "fifo") for option in OPTIONS),
            in_parts=True,
        ),
    )
    def test_is_refused_in_a_sentence(self, tmp_path: Path, option: str, kind: str, plan: str) -> None:
        (tmp_path / "p.json").write_text(plan)
        path = special(kind, tmp_path)
        done = srfix(*(word.replace("FILE", str(path)) for word in OPTIONS[option]), cwd=tmp_path)
        said = sentence(done)
        if (option, kind) in LIBRARYS:
            return
        assert str(path)[:40] in said or "FILE" in said, said


class TestContent:
    @given(
        document=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
        )
    )
    def test_any_document_is_parsed_or_a_value_error(self, document: object) -> None:
        text = json.dumps(document)
        try:
            parsed = parse_json(text)
        except ValueError:
            with pytest.raises(UnicodeEncodeError):
                json.dumps(document, ensure_ascii=False).encode()
            return
        assert json.dumps(parsed, ensure_ascii=False).encode()

    @pytest.mark.parametrize("levels", [bounds.DEEPEST_DOCUMENT - 1, bounds.DEEPEST_DOCUMENT + 1, 10**6])
    def test_depth_is_bounded(self, levels: int) -> None:
        text = "[" * levels + "]" * levels
        if levels < bounds.DEEPEST_DOCUMENT:
            parse_json(text)
        else:
            with pytest.raises(ValueError, match=r"^it is nested too deeply$"):
                parse_json(text)


class TestWhereFilesAreWritten:
    @pytest.mark.parametrize("kind", ["fifo", "socket", "device", "long name"])
    def test_a_plan_replaces_nothing_but_files(self, tmp_path: Path, kind: str) -> None:
        path = special(kind, tmp_path)
        before = os.stat(path).st_ino if path.name != "x" * 300 else None
        assert f"The plan cannot be written to {path} (" in sentence(srfix("plan", *NOWHERE, "-o", path))
        assert before is None or os.stat(path).st_ino == before

    def test_a_plan_in_no_folder_is_refused_before_anything_is_asked(self, tmp_path: Path) -> None:
        path = tmp_path / "none" / "p.json"
        assert f"The plan cannot be written to {path} (" in sentence(srfix("plan", *NOWHERE, "-o", path))

    def test_a_plan_does_not_replace_a_journal(self, parts: Parts, tmp_path: Path) -> None:
        path = tmp_path / "p.json"
        assert parts.srfix("plan", "-o", path).returncode == 0
        assert parts.srfix("apply", path, "--yes").returncode == 0
        journal = Path(f"{path}.journal.jsonl")
        content = journal.read_bytes()
        assert parts.srfix("rollback", "--yes", path).returncode == 0
        rolled = journal.read_bytes()
        assert rolled.startswith(content)
        assert "is the journal of a repair" in sentence(srfix("plan", *NOWHERE, "-o", journal))
        assert journal.read_bytes() == rolled

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("old")
        (tmp_path / "link").symlink_to("target")
        write_whole(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_bytes() == b"new"


class TestStateDirectories:
    @pytest.mark.parametrize("name", ["kafka-streams-process-metadata", "0_0/.checkpoint", ".lock"])
    @pytest.mark.parametrize("kind", ["fifo", "directory", "socket", "huge", *CONTENT])
    def test_what_stands_in_them_is_a_problem_and_no_more(self, tmp_path: Path, name: str, kind: str) -> None:
        (tmp_path / "app" / "0_0").mkdir(parents=True)
        path = tmp_path / "app" / name
        if kind in SPECIAL:
            special(kind, tmp_path).rename(path)
        else:
            path.write_bytes(CONTENT[kind])
        (application,) = read_state_directory(tmp_path / "app")
        assert name == ".lock" or [problem.path for problem in application.problems] == [str(path)]

    @pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"])
    def test_a_name_that_none_can_have(self, name: str) -> None:
        with pytest.raises(UsageError):
            read_state_directory(Path(name))
