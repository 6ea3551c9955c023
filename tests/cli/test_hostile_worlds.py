"""Whatever names, payloads and answers a world is made of: what is printed is printable, and its commands are whole."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from srfix.cli.command_table import COMMANDS
from srfix.cli.main import main
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry import governed
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.commands import CommandLine, GivenOption, positional, srfix_command
from srfix.serde import bounds
from srfix.serde.printable import COMMAND_IN_TEXT, MESSAGE, is_printable
from srfix.serde.wire import frame_id
from tests.cli.damaged_stores import WRITER, world_of
from tests.cli.test_printed_commands import parsed, strings
from tests.serde.test_printable import HOSTILE, seen
from tests.telling import slow_but

_OUR_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
UNSEEN = "".join(text for text in HOSTILE if text != "\ud800")
PASTEABLE = (
    "a shop",
    "it's",
    'the "shop"',
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "a\nb",
    "\n```\ntouch pwned\n",
    "-x",
    "--registry",
    "--",
    "a=b",
    "a/b=c",
    "*?[a]{b,c}~!#&|<>()\\",
    "приложение",
    "🦊",
)
"""Names whose commands must name them exactly."""
APPLICATIONS = (*PASTEABLE, f"evil{UNSEEN}", "long" * 5_000)


@contextmanager
def hostile_world(*applications: str) -> Iterator[tuple[EmbeddedBroker, FixtureRegistry, tuple[str, ...]]]:
    """The stores of applications that no registry would take, with hostile documentation, rows and values."""
    hostile = WRITER[:-1] + f', "doc": {json.dumps(UNSEEN)}}}'
    row = frame_id(1, bytes([2, 2 * len(UNSEEN.encode())]) + UNSEEN.encode())[:60]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(governed, "checked_subject", lambda subject, **_: subject)
        with world_of(*applications, writer=hostile, rows=[row], bad=[UNSEEN.encode()], key=UNSEEN) as (
            broker,
            registry,
        ):
            yield broker, registry, ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url)


def commands_of(document: str) -> set[str]:
    """All commands of a JSON report."""
    found: set[str] = set()
    for text in strings(json.loads(document)):
        found.update(match[1] for match in COMMAND_IN_TEXT.finditer(text))
        if text.startswith("srfix ") and text.split()[1] in COMMANDS:  # not a sentence about srfix
            found.add(text)
    return {command for command in found if len(shlex.split(command)) > 1}


REPORTS = (
    ("diagnose",),
    ("diagnose", "--source", "users-store=users", "--reader", "connect"),
    ("plan",),
    ("plan", "--as-shell"),
    ("subjects",),
    ("scan", "bad"),
    ("scan", "users", "--application", f"evil{UNSEEN}"),
    ("decode", "bad"),
    ("decode", "users", "--role", "key"),
    ("decode", f"no{UNSEEN}topic"),
    ("decode", "--payload", f"text:{json.dumps({'A': UNSEEN})}", "--format", "json"),
    ("encode", json.dumps({"A": UNSEEN}), "--columns", "A STRING", "--format", "json"),
    ("explain", f"io.confluent {UNSEEN} error code: 40403 for id 3; topic x{UNSEEN}-value"),
    ("explain", UNSEEN),
    ("schema", "--from-subject", "bad-value"),
    ("schema", f"`A{UNSEEN}` INT"),
    ("doctor", "--application", f"evil{UNSEEN}"),
    ("apply", f"no{UNSEEN}.json"),
    ("rollback", f"no{UNSEEN}.json"),
    (f"no{UNSEEN}",),
    ("plan", f"--no{UNSEEN}"),
    ("diagnose", "--ignore", UNSEEN, "--store", UNSEEN),
)


TELLING = slow_but(REPORTS, *REPORTS[2:4], *REPORTS[7:9], REPORTS[13])


@pytest.fixture(scope="module")
def where() -> Iterator[tuple[str, ...]]:
    with hostile_world("\n```\ntouch pwned\n", *APPLICATIONS[-2:]) as (_broker, _registry, options):
        yield options


class TestWhatIsPrinted:
    @pytest.mark.parametrize("output", slow_but(["table", "markdown", "json", "html"], "table", "json"))
    @pytest.mark.parametrize(
        "arguments",
        TELLING,
        ids=lambda words: ascii(" ".join(words))[:40],
    )
    def test_it_is_printable(
        self, where: tuple[str, ...], arguments: tuple[str, ...], output: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        takes = {"explain": (), "schema": where[2:], "encode": (), "apply": where, "rollback": where}
        more = takes.get(arguments[0], where)
        more = (*more, "--output", output) if arguments[0] != "encode" else ()
        code = main([*arguments, *more])
        out, err = capsys.readouterr()
        assert code in {0, 1, 2}, err
        text = _OUR_COLOURS.sub("", out) + err
        assert all(seen(character) or character == "\n" for character in text), ascii(text)
        assert len(err) < 100 * MESSAGE
        if output == "json" and out.startswith("{") and "--as-shell" not in arguments:
            for line in [out] if arguments[0] not in {"decode", "encode"} else out.splitlines():
                json.loads(line)


class TestCommands:
    @pytest.mark.slow
    def test_each_names_what_was_meant(self, capsys: pytest.CaptureFixture[str]) -> None:
        found: set[str] = set()
        with hostile_world(*APPLICATIONS) as (broker, registry, where):
            for arguments in (("diagnose",), ("diagnose", "--reader", "connect"), ("plan",), ("subjects",)):
                main([*arguments, *where, "--output", "json"])
                found |= commands_of(capsys.readouterr().out)
            named = set()
            for command in found:
                context = parsed(command)
                if context.info_name == "explain":
                    continue
                assert context.params["registry"] == registry.url, command
                assert context.params["bootstrap_servers"] == broker.bootstrap_servers, command
                named.add(context.params.get("application"))
        known = {
            *APPLICATIONS,
            *(f"{prefix}{name}" for name in APPLICATIONS for prefix in ("desk", "gone")),
            "rough",
            None,
        }
        assert named >= set(PASTEABLE) - {"--"}
        for name in named - known:
            assert name is not None
            assert name.startswith("${SRFIX_WORD_") or any(
                f"{whole}-users-store".startswith(name) for whole in known if whole
            ), name

    @pytest.mark.parametrize("shell", [found for found in map(shutil.which, ("dash", "bash")) if found])
    @given(
        words=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.sampled_from(APPLICATIONS))
    )
    @example(words=list(APPLICATIONS))
    @settings(max_examples=25, deadline=None)
    def test_a_shell_gets_the_words_or_stops(self, shell: str, words: list[str]) -> None:
        command = srfix_command(*words)
        assert is_printable(command.replace("\n", " "))
        script = f"srfix() {{ for word do printf '%s\\0' \"$word\"; done; }}\n{command}"
        done = subprocess.run(
            [shell, "-c", script], capture_output=True, timeout=30, check=False, env={"PATH": os.defpath}
        )
        if all(is_printable(word.replace("\n", " ")) and len(word) <= bounds.COMMAND_WORD for word in words):
            assert done.stdout == b"".join(word.encode() + b"\0" for word in words)
            assert shlex.split(command) == ["srfix", *words]
        else:
            assert (done.returncode != 0, done.stdout) == (True, b"")
            assert b"set it first" in done.stderr

    def test_a_name_that_is_an_options_takes_no_options_place(self) -> None:
        options = (GivenOption(name="--registry", value="http://r"), GivenOption(name="--source", value="a=b"))
        command = CommandLine(options=options).command("diagnose", "--application", "--registry", "--store", "--source")
        context = parsed(command)
        assert (context.params["registry"], context.params["application"]) == ("http://r", "--registry")
        assert (context.params["store"], context.params["source"]) == ("--source", ("a=b",))

    @pytest.mark.parametrize("name", APPLICATIONS[:16])
    def test_a_file_is_named_exactly(self, name: str) -> None:
        context = parsed(CommandLine().command("apply", *positional(name)))
        assert context.params["path"] == Path(name)


def test_nothing_else_in_the_room_writes_to_the_terminal() -> None:
    """Else the next line that is added would not be printable. Before the rest is imported `main` has one sentence, its own."""
    root = Path(__file__).parent.parent.parent / "cli" / "srfix" / "cli"
    pattern = re.compile(r"click\.(?:echo|confirm|secho|prompt)|(?<![\w.])print\(|sys\.std(?:out|err)\.write")
    found = {path.name for path in root.rglob("*.py") if pattern.search(path.read_text())}
    assert found == {"main.py", "speaking.py"}
