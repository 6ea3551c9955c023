"""A window, session or join store whose partition has no rows yet: Kafka Streams leaves an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kept_demo import srfix


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("size",), 0),
        (("scan", "--store", "foo"), 0),
        (("get", "--store", "foo", "k"), 1),
        (("export", "--store", "foo", "--to", "csv", "--out", "out"), 0),
        (("where", "k"), 1),
        (("ls",), 0),
    ],
)
def test_it_is_a_store_without_rows(command: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "d" / "0_0" / "foo").mkdir(parents=True)
    name, *arguments = command
    done = srfix("state", name, "d", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert "amaged" not in done.stdout + done.stderr


def test_one_with_other_files_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "0_0" / "foo"
    folder.mkdir(parents=True)
    (folder / "rows.bin").write_bytes(b"x")
    assert "a custom store of the application" in srfix("state", "size", "d", cwd=tmp_path).stderr
