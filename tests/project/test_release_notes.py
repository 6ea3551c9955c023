"""What a release says of itself is the changelog's section of its version."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))
notes_of: Callable[..., str] = SCRIPT["notes_of"]
PROJECT = '[project]\nname = "srfix"\nversion = "1.2.0"\n'
CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n- next\n\n## {}\n\n### cli\n\n- this\n\n## 1.1.0 - 2026-01-01\n\n- before\n"
)


@pytest.mark.parametrize("title", ["1.2.0", "1.2.0 - 2026-11-23", "[1.2.0] - 2026-11-23"])
def test_they_are_the_section_of_the_tags_version(title: str) -> None:
    assert notes_of("v1.2.0", project=PROJECT, changelog=CHANGELOG.format(title)) == "### cli\n\n- this\n"


def test_a_tag_that_is_not_the_projects_version_is_refused() -> None:
    expected = "The tag is v1.2.1, and pyproject.toml has the version 1.2.0. Tag v1.2.0, or change pyproject.toml."
    with pytest.raises(SCRIPT["ReleaseError"], match=f"^{re.escape(expected)}$"):
        notes_of("v1.2.1", project=PROJECT, changelog=CHANGELOG.format("1.2.0"))


@pytest.mark.parametrize("title", ["1.2.0rc1", "1.20", "1.2.0\n\n## 1.1.9"])
def test_a_version_of_which_the_changelog_says_nothing_is_refused(title: str) -> None:
    with pytest.raises(SCRIPT["ReleaseError"], match=r"^CHANGELOG\.md has no section '## 1\.2\.0', or nothing in it\."):
        notes_of("v1.2.0", project=PROJECT, changelog=CHANGELOG.format(title))


def test_the_changelog_has_a_section_for_the_version_that_is_next() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = tomllib.loads(project)["project"]["version"]
    assert "\n## Unreleased\n" in changelog or notes_of(f"v{version}", project=project, changelog=changelog)
