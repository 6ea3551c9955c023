"""`release_notes.py TAG` prints the changelog's section of the version that the tag names; see `notes_of`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


class ReleaseError(Exception):
    """The tag, the version and the changelog do not go together."""


def notes_of(tag: str, *, project: str, changelog: str) -> str:
    """The section of the version's release.

    :param project: the text of pyproject.toml.
    :raises ReleaseError: if the tag is not `v` and the project's version, or the changelog says nothing about it.
    """
    version = tomllib.loads(project)["project"]["version"]
    if tag != f"v{version}":
        raise ReleaseError(
            f"The tag is {tag}, and pyproject.toml has the version {version}. Tag v{version}, or change pyproject.toml."
        )
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        title, _, text = section.partition("\n")
        if title.split()[:1] in ([version], [f"[{version}]"]) and text.strip():
            return text.strip() + "\n"
    raise ReleaseError(
        f"CHANGELOG.md has no section '## {version}', or nothing in it. Replace the title '## Unreleased' by that title and"
        " the date, and tag that commit."
    )


def main() -> int:
    """The command's exit code: 2 if there is no such section."""
    (tag,) = sys.argv[1:]
    try:
        notes = notes_of(
            tag,
            project=(ROOT / "pyproject.toml").read_text(encoding="utf-8"),
            changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        )
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
