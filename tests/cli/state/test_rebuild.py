"""`srfix state rebuild` on the staged incident: the store's values under the schema that the phantom subject holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from srfix.recovery.state.formats.values import TIMESTAMPED
from srfix.recovery.state.rocksdb import opened
from srfix.serde.wire import prefix_id_bytes
from tests.cli.kept_demo import Parts, srfix


def rebuild(parts: Parts, folder: Path, *arguments: str, kind: str = "timestamped-kv") -> tuple[int, str, str]:
    staged = parts.staged
    done = srfix(
        *("state", "rebuild", "--from-topic", staged.source_topic, "--until", "committed", "--kind", kind),
        *("--application", staged.application, "--store", staged.store, "--subtopology", "0"),
        *("--streams-version", "2.6.3", "--out", folder, "--output", "json"),
        *("--bootstrap-servers", parts.broker.bootstrap_servers, "--registry", parts.registry.url, *arguments),
    )
    return done.returncode, done.stdout, done.stderr


def values(parts: Parts, folder: Path) -> list[bytes]:
    staged = parts.staged
    found: list[bytes] = []
    for database in sorted((folder / staged.application).glob(f"*/rocksdb/{staged.store}")):
        with opened(database) as rows:
            found += [value[8:] for _key, value in rows.rows(TIMESTAMPED)]
    return found


class TestDualSubject:
    """The phantom subject first, then the source's, whatever the ids alone would say."""

    def test_what_the_phantom_subject_lacks_is_read_under_the_source_subject(
        self, parts: Parts, tmp_path: Path
    ) -> None:
        phantom = parts.staged.phantom_subject
        code, out, errors = rebuild(parts, tmp_path, "--subject", phantom, "--resolve", "dual-subject")
        assert code == 0, errors
        document: Any = json.loads(out)
        found = values(parts, tmp_path)
        assert sum(each["rewritten"] for each in document["stores"]) == len(found) > 0
        assert all(value.startswith(prefix_id_bytes(parts.staged.internal_id)) for value in found)
        for schema_id in parts.staged.writer_ids:
            assert f"id {schema_id}" in errors  # the note names what the second subject answered
        assert parts.registry.writes == 0


def test_under_one_subject_the_incident_is_met(parts: Parts, tmp_path: Path) -> None:
    phantom = parts.staged.phantom_subject
    code, _, errors = rebuild(parts, tmp_path, "--subject", phantom, "--resolve", "one-subject")
    assert code == 2
    assert "srfix cannot rewrite" in errors
    assert ".. Register" not in errors
    source = ("--resolve", "one-subject", "--read-subject", parts.staged.source_subject)
    assert rebuild(parts, tmp_path, "--subject", phantom, *source)[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--resolve", "dual-subject"), "--resolve needs --subject"),
        (("--second-subject", "a"), "--second-subject needs --subject"),
        (("--subject", "a", "--read-subject", "b"), "--read-subject is only for --resolve one-subject"),
        (("--subject", "a", "--resolve", "one-subject", "--second-subject", "b"), "--second-subject is only for"),
    ],
)
def test_options_that_contradict_each_other(parts: Parts, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    code, _, errors = rebuild(parts, tmp_path, *options)
    assert code == 2
    assert words in errors


def test_a_store_with_segments_needs_its_retention(parts: Parts, tmp_path: Path) -> None:
    code, _, errors = rebuild(parts, tmp_path, kind="session")
    assert code == 2
    assert "give --retention-ms" in errors


def test_records_that_were_put_are_not_taken_for_rows(parts: Parts, tmp_path: Path) -> None:
    code, out, errors = rebuild(parts, tmp_path)
    assert code == 0, errors
    document: Any = json.loads(out)
    assert sum(each["rows"] for each in document["stores"]) > len(values(parts, tmp_path))
    assert document["notes"] == [
        f"{parts.staged.store}: srfix counts the records that it wrote. Of several records of a key only the last one "
        "remains, and a tombstone removes the key."
    ]
