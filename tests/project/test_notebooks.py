"""The notebooks run from top to bottom and draw their pictures; they are kept without what a run leaves in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.notebooks import FOLDER, RanNotebook

pytestmark = pytest.mark.slow

PNG = b"\x89PNG"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["incident", "serde", "spark"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_as_it_is_before_it_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    for cell in notebook.cells:
        assert not cell.metadata
        if cell.cell_type == "code":
            assert cell.execution_count is None
            # The site runs the others; tests/spark holds the outputs that are kept of this one to a run.
            assert path.stem == "spark" or cell.outputs == []
    assert notebook.cells[0].source.startswith("# ")


def test_the_incident_is_found_repaired_checked_and_undone(tmp_path: Path) -> None:
    ran = RanNotebook("incident", tmp_path, timeout_s=120)
    assert ran.complaints == ""
    assert "SRF001 broken" in ran.said
    assert damage.APPLICATION in ran.said
    for event in ("StepDone", "Confirmed"):
        assert event in ran.said
    assert "Problem" not in ran.said
    keys, before, after, rolled_back = ran.pictures
    assert all(picture.startswith(PNG) for picture in ran.pictures)
    assert len({keys, before, after, rolled_back}) == 4


def test_the_serde_survives_what_the_failing_reader_does_not(tmp_path: Path) -> None:
    ran = RanNotebook("serde", tmp_path, timeout_s=120)
    assert ran.complaints == ""
    assert "SubjectVersionError" in ran.said
    assert "{'USERID': 7, 'FULLNAME': 'Ada', 'TIER': None}" in ran.said
    assert "TRUNCATED" in ran.said
    assert [picture[:4] for picture in ran.pictures] == [PNG]
