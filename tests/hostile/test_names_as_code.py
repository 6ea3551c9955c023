"""Names and schemas that want to be code: of a shell, of a command line, of a URL, of Markdown. Kinds 3, 4 and 9."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.cli.pages import assert_is_a_page
from tests.hostile.attack import judge
from tests.hostile.worlds import INTERNAL, USER, World, tree, user, world
from tests.telling import slow_but

MARK = "hurt"
NAMES = {
    "newline": f"a\ntouch {MARK}\n#",
    "single quote": f"a'; touch {MARK}; '",
    "substitution": f"a$(touch {MARK})",
    "backquotes": f"a`touch {MARK}`",
    "backslash and quote": f"a\\'; touch {MARK} #",
    "here-document": f"a\nEOF\ntouch {MARK}\ncat <<EOF\n",
    "glob": "a*?[!b]{c,d}~",
    "history": "a!!:p",
    "option": "--yes",
    "at file": "@/etc/passwd",
    "percent": "a%0atouch%20hurt%27",
    "question": "a?permanent=true&x=#y",
    "dots": "a/../../config",
    "slash": "a/b",
    "escape": "a\x1b]0;owned\x07\x1b[2J\x9b31m",
    "bidi": "a\u202egnp.sh\u2066",
    "separators": "a\u2028touch hurt\u2029\x85",
    "markdown": "a|b](http://evil.example)**x**<script>alert(1)</script>`",
    "rich": "[red]a[/red][link=http://evil.example]b[/link]:smile:",
    "context": "a:.ctx:b",
    "long": "a" * 4_000,
    "format": "%s%n{0}{x.__class__}",
}  # fmt: skip
FOLD = re.compile(r"<details(?: open)?><summary>[^<>\n]*</summary>\n?|</details>\n?")
"""The only HTML of our own that stands between blocks of Markdown."""


@pytest.fixture(scope="module")
def there() -> Iterator[World]:
    """One store for each name, whose application has it, and a topic that all restore from."""
    with world(any_subject=True) as made:
        made.topic("users", [user(1), user(1, 8)])
        made.registry.seed("users-value", USER)
        for name in NAMES.values():
            made.registry.seed(phantom(name), INTERNAL)
        yield made


def phantom(name: str, store: str = "s-x") -> str:
    return f"{name}-{store}-changelog-value"


def chosen(name: str) -> tuple[str, ...]:
    """The options that name the store, in the form that no name can be mistaken in."""
    return (f"--application={name}", "--store=s-x", "--source=s-x=users")


@pytest.mark.parametrize("name", slow_but(NAMES, "newline"))
class TestPlans:
    def test_as_shell_does_what_apply_does_and_nothing_else(self, there: World, name: str, tmp_path: Path) -> None:
        for output in ((), ("--all-versions",)):
            done = judge(there.attack("plan", "--as-shell", *chosen(NAMES[name]), *output, cwd=tmp_path))
            assert tree(tmp_path) == {}
            if done.returncode != 0:
                assert done.returncode == 2
                assert done.stderr
                continue
            work = tmp_path / "work"
            work.mkdir(exist_ok=True)
            script = tmp_path / "repair.sh"
            script.write_bytes(done.out)
            # Every line that begins a comment is one; every line is printable (`judge`).
            assert shutil.which("sh")
            before = there.registry.dump()
            ran = subprocess.run(
                ["sh", str(script)], cwd=work, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
            )
            after: Any = there.registry.dump()
            assert tree(work) == {}, ran.stderr
            assert b"\x1b" not in ran.stdout + ran.stderr
            assert ran.returncode == 0, (ran.stdout, ran.stderr)
            changed = {s for s in after["subjects"] if after["subjects"][s] != before["subjects"].get(s)}  # type: ignore[union-attr]
            assert changed == {phantom(NAMES[name])}
            assert after["configs"] == before["configs"]
            with_http(there, phantom(NAMES[name]))
            assert there.registry.dump() == before
            script.unlink()

    def test_apply_verify_and_rollback_go_the_whole_way(self, there: World, name: str, tmp_path: Path) -> None:
        before = there.registry.dump()
        done = judge(there.attack("plan", *chosen(NAMES[name]), "-o", "p.json", cwd=tmp_path))
        if done.returncode:
            return
        judge(there.attack("apply", "p.json", "--yes", cwd=tmp_path), codes=(0,))
        judge(there.attack("verify", "p.json", "--output", "json", cwd=tmp_path), codes=(0, 2))
        judge(there.attack("rollback", "p.json", "--yes", cwd=tmp_path), codes=(0,))
        assert there.registry.dump() == before

    def test_reports_are_printable_and_json(self, there: World, name: str, tmp_path: Path) -> None:
        for command in (("diagnose", *chosen(NAMES[name])), ("plan", *chosen(NAMES[name]))):
            told = judge(there.attack(*command, "--output", "json", cwd=tmp_path))
            if told.out:
                assert json.loads(told.out)
            judge(there.attack(*command, cwd=tmp_path))
            marked = judge(there.attack(*command, "--output", "markdown", cwd=tmp_path))
            tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(marked.stdout)
            inner = [child for token in tokens for child in token.children or ()]
            assert all(FOLD.fullmatch(token.content) for token in tokens if token.type == "html_block")
            assert {child.content for child in inner if child.type == "html_inline"} <= {"<code>", "</code>"}
            assert not {child.type for child in inner} & {"link_open", "image", "em_open", "s_open"}
            page = judge(there.attack(*command, "--output", "html", cwd=tmp_path), most=4 << 20)
            if page.out:
                assert_is_a_page(page.stdout)
        assert tree(tmp_path) == {}


def with_http(there: World, subject: str) -> None:
    """Takes back what a script has registered: the versions after the first, and nothing else."""
    from urllib.parse import quote

    import requests

    path = f"{there.registry.url}/subjects/{quote(subject, safe='')}/versions"
    for number in requests.get(f"{path}?deleted=true", timeout=10).json()[1:]:
        requests.delete(f"{path}/{number}", timeout=10)
        requests.delete(f"{path}/{number}?permanent=true", timeout=10)
