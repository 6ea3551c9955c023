"""Every fenced block of the documentation is run or checked; the few that cannot be are named here, with the reason.

A block's language says how: `python` and `python spark` are sessions (`tests/test_examples.py`, `tests/spark/test_readme.py`),
none is a shell's, whose every line is run or named, or a screen that begins with `$ srfix` and that `test_readme_screens.py`
compares; `yaml`, `toml` and `json` are read; `text` is what something else shows.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import fastavro
import pytest
import yaml
from fastavro.utils import generate_one
from site_pages import shown_names
from site_tables import API
from site_tables import DOCSTRINGS as SHOWN_DOCSTRINGS

from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import Parts, srfix, staged_parts
from tests.pages import BLOCKS, IS_NO_CODE, PAGES, ROOT, Fenced, block_that_begins, name_of

ELSEWHERE: Final = {"python": "tests/test_examples.py", "python spark": "tests/spark/test_readme.py"}
"""Language whose blocks are a session on each page → what runs them."""

DOCSTRINGS: Final = {"srfix.serde.spark.source": "tests/spark/test_readme.py"}
"""Module whose docstring, on the site, has code that is no doctest → what runs it. Doctests: `tests/test_examples.py`."""

IS_NOT_RUN: Final = {
    "pipx install git+https": "installs for the user who runs the tests, from the repository",
    "pip install ": "installs into the environment of the tests",
    "docker build ": "takes an engine: tests/docker/test_image.py builds the image",
    "docker run ": "takes an engine: tests/docker/test_image.py runs it",
    "export SRFIX_": "the tests' broker and registry are elsewhere",
    "python -m pip download ": "takes an index, and the repository",
    "python -m pip install --no-index ": "takes what was downloaded",
}
"""How a shell's line begins → why it is not run."""

CODES: Final[Mapping[str, tuple[int, ...]]] = {
    "check users --reader connect --subject sink.users-value": (1,),
    "diagnose": (1, 0),
    "diagnose --kafka-config /etc/ksqldb/ksql-server.properties": (1,),
    "guard --topology topology.txt --application shop --streams-version 2.6.3 --optimization all --reader connect": (
        1,
    ),
    "guard --topology topology.txt --application shop --streams-version 2.6.3 --optimization all --to 3.9": (1,),
    "guard --subject users-value --schema new.avsc": (1,),
    "diagnose --details": (1,),
    "diagnose --output html": (1,),
    "diagnose --output markdown": (1,),
    "state where state ann --store users": (1,),
    "watch --once": (1,),
}
"""A line → its exit codes, the first time on a page and each later one; 0 where there is none. A page begins with the
incident."""

FILES: Final = {
    "/etc/ksqldb/ksql-server.properties": (
        "bootstrap.servers={SRFIX_BOOTSTRAP_SERVERS}\nksql.schema.registry.url={SRFIX_REGISTRY}\n"
    ),
    "topology.txt": "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [users])\n"
    "      --> KTABLE-SOURCE-0000000001\n    Processor: KTABLE-SOURCE-0000000001 (stores: [users-store])\n      --> none\n",
    "new.avsc": '{{"type":"record","name":"User","namespace":"com.example.shop","fields":[{{"name":"userId","type":"long"}}]}}',
}
"""A file of the reader's that a line names → what stands in it here."""

STATE: Final = "state"
"""The state directory of the reader's that `srfix state` is shown on."""


@pytest.fixture
def parts() -> Iterator[Parts]:
    with staged_parts() as parts:
        yield parts


def test_no_block_is_overlooked() -> None:
    fences = sum(len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(BLOCKS) > 40


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_of_a_kind_that_is_run_or_read(block: Fenced) -> None:
    match block.language:
        case "python" | "python spark" as session:
            assert f'pages_with("{session}")' in (ROOT / ELSEWHERE[session]).read_text(encoding="utf-8")
        case "yaml":
            assert yaml.safe_load(block.text)
        case "toml":
            assert tomllib.loads(block.text)
        case "json":
            assert json.loads(block.text)
        case "" if block.is_screen:
            command = block.text.partition("\n")[0].removeprefix("$ ")
            assert f'"{command}"' in (ROOT / "tests" / "test_readme_screens.py").read_text(encoding="utf-8")
        case "":
            assert not block.is_shell or block.commands()
        case "text":
            pass
        case other:
            pytest.fail(f"{block.place}: nothing is known of the language {other!r}.")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.is_shell and b.page == page for b in BLOCKS)], ids=name_of
)
def test_the_shell_s_lines_of_a_page_run_from_top_to_bottom(page: Path, parts: Parts, tmp_path: Path) -> None:
    targets = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    ran: list[str] = []
    for block in BLOCKS:
        if block.page != page:
            continue
        if block.is_screen:
            ran.append(block.text.partition("\n")[0].removeprefix("$ srfix "))
        for words in block.commands() if block.is_shell else ():
            line = " ".join(words)
            if words[0] == "make":
                assert set(words[1:]) <= targets, f"{block.place}: {line}"
            elif words[0] == "srfix" and "-" not in words:
                run_one(words[1:], ran, parts, tmp_path, block)
            else:
                assert line.startswith(tuple(IS_NOT_RUN)), f"{block.place}: {line!r} is neither run nor named."


def test_every_command_that_needs_no_more_than_the_incident_is_shown() -> None:
    shown = {words[1] for block in BLOCKS if block.is_shell for words in block.commands() if words[0] == "srfix"}
    assert {"diagnose", "plan", "apply", "verify", "rollback", "schema", "encode", "decode", "guard", "watch"} <= shown


def run_one(arguments: list[str], ran: list[str], parts: Parts, folder: Path, block: Fenced) -> None:
    """Runs a command of a session; who would ask a person is told yes."""
    line = " ".join(arguments)
    if arguments[0] == "state" and not (folder / STATE).exists():
        with_users(folder / STATE, parts)
    yes = ["--yes"] if arguments[0] in ("apply", "rollback") and "--yes" not in arguments else []
    done = parts.srfix(*(own_file(word, parts, folder) for word in arguments), *yes, cwd=folder)
    codes = CODES.get(line, (0,))
    expected = codes[min(ran.count(line), len(codes) - 1)]
    assert done.returncode == expected, f"{block.place}: srfix {line}\n{done.stdout}{done.stderr}"
    ran.append(line)


def with_users(folder: Path, parts: Parts) -> None:
    """A state directory with the table of the topic users, as Kafka Streams leaves it."""
    subjects: Any = parts.registry.dump()["subjects"]
    version = subjects["users-value"][-1]
    schema = fastavro.parse_schema(json.loads(version["schema"]))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, generate_one(schema))
    users = StoreToWrite(name="users", kind=WrittenKind.TIMESTAMPED_KV)
    with store_writer(users, folder / "0_0", Release(2, 6, 3)) as writer:
        writer.restore(b"ann", frame_id(version["id"], body.getvalue()), timestamp_ms=1_700_000_000_000)
        writer.finish(())
    (folder / "0_0" / ".checkpoint").write_text("0\n1\nusers 0 0\n")


def own_file(word: str, parts: Parts, folder: Path) -> str:
    """The word, or the path of a file in place of the one that it names."""
    if word not in FILES:
        return word
    path = folder / Path(word).name
    path.write_text(FILES[word].format_map(parts.environment), encoding="utf-8")
    return str(path)


def test_no_docstring_on_the_site_has_code_that_nothing_runs() -> None:
    whole = {front for front, _ in SHOWN_DOCSTRINGS.values()}
    whole |= {place for front in whole for place, _ in shown_names(front)}
    objects: dict[str, object] = {name: importlib.import_module(name) for name in {*API, *whole}}
    for place, name in (shown for front in API for shown in shown_names(front)):
        one = getattr(importlib.import_module(place), name)
        if inspect.isclass(one) or inspect.isfunction(one):
            objects[f"{place}.{name}"] = one
    with_code = {name for name, one in objects.items() if re.search(r"\n\n    \S", inspect.getdoc(one) or "")}
    assert with_code - {"srfix.serde.schemas.errors"} == set(DOCSTRINGS)  # which draws the tree of errors
    for module, runner in DOCSTRINGS.items():
        assert f"import {module.rpartition('.')[2]}" in (ROOT / runner).read_text(encoding="utf-8")


def test_the_stack_trace_is_known_to_explain() -> None:
    done = srfix("explain", "-", stdin=block_that_begins("org.apache.kafka.connect.errors"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "SRF001" in done.stdout


def test_each_exception_is_needed() -> None:
    texts = [block.text for block in BLOCKS if not block.language]
    lines = [" ".join(words) for block in BLOCKS if block.is_shell for words in block.commands()]
    assert [start for start in IS_NO_CODE if not any(text.startswith(start) for text in texts)] == []
    assert [start for start in IS_NOT_RUN if not any(line.startswith(start) for line in lines)] == []


def test_the_action_that_is_shown_is_used_as_it_is_declared() -> None:
    inputs = set(yaml.safe_load((ROOT / ".github/actions/srfix/action.yml").read_text(encoding="utf-8"))["inputs"])
    shown = [step for block in BLOCKS if block.language == "yaml" for step in uses(yaml.safe_load(block.text))]
    assert shown
    for step in shown:
        assert set(step.get("with", {})) <= inputs


def uses(document: object) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """The steps that use the action, wherever they stand."""
    match document:
        case {"uses": str(action), **_rest} if "/.github/actions/srfix@" in action:
            assert isinstance(document, Mapping)
            yield document
        case Mapping():
            for value in document.values():
                yield from uses(value)
        case list():
            for value in document:
                yield from uses(value)
        case _:
            pass
