"""Plans and journals that are not what they seem, and files that are somebody else's. Kinds 5, 6 and 10, and both "Also"."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import Parts, registry_like, staged_parts
from tests.hostile.attack import Done, attack, judge
from tests.hostile.worlds import signed


@pytest.fixture(scope="module")
def staged() -> Iterator[Parts]:
    with staged_parts() as parts:
        yield parts


@pytest.fixture(scope="module")
def plan_text(staged: Parts, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plan") / "p.json"
    done = attack("plan", "-o", path, env=staged.environment)
    assert done.returncode == 0, done.stderr
    return path.read_text()


@pytest.fixture
def registry(staged: Parts) -> Iterator[FixtureRegistry]:
    with registry_like(staged.registry) as like:
        yield like


@pytest.fixture
def directory(plan_text: str, tmp_path: Path) -> Path:
    (tmp_path / "p.json").write_text(plan_text)
    return tmp_path


def apply(directory: Path, registry: FixtureRegistry) -> Done:
    return attack("apply", "p.json", "--yes", "--registry", registry.url, cwd=directory)


def rollback(directory: Path, registry: FixtureRegistry, journal: str | Path = "p.json.journal.jsonl") -> Done:
    return attack("rollback", journal, "--yes", "--registry", registry.url, cwd=directory)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return changed


DEEP: Any = "x"
for _ in range(900):
    DEEP = [DEEP]
NUMBERS = (-1, 0, 2**70, 1.5, float("inf"), float("nan"))
WRONG: tuple[Any, ...] = (None, True, *NUMBERS, "", "x\x1b[2J", "\ud800", [], {}, [None], {"a": None}, DEEP)


class TestPlans:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(4))
    def test_wrong_types_with_the_right_digest_end_in_a_sentence(self, seed: int, staged: Parts, registry: FixtureRegistry, directory: Path, plan_text: str) -> None:  # fmt: skip
        chance, plan = random.Random(seed), json.loads(plan_text)
        all_places = [path for path in places(plan) if path[0] != "digest"]
        before: Any = registry.dump()
        original, wrong = copy.deepcopy(registry._store), []
        at = ("--registry", registry.url, "--bootstrap-servers", staged.broker.bootstrap_servers)
        for _ in range(25):
            path, value = chance.choice(all_places), chance.choice(WRONG)
            changed = put(plan, path, value)
            try:
                text = json.dumps(signed(changed)).encode()
            except UnicodeEncodeError:  # a half surrogate has no digest: any will do
                text = json.dumps(changed).encode()
            (directory / "p.json").write_bytes(text)
            for old in directory.glob("p.json.journal*"):
                old.unlink()
            registry._store = copy.deepcopy(original)
            try:
                judge(apply(directory, registry))
                judge(attack("verify", "p.json", *at, cwd=directory))
                judge(rollback(directory, registry, "p.json"))
                now: Any = registry.dump()
                assert now["subjects"]["users-value"] == before["subjects"]["users-value"]
                assert "NONE" not in json.dumps({k: v for k, v in now.items() if k != "subjects"})
            except AssertionError as error:
                wrong.append(f"{path} = {str(value)[:40]!r}: {str(error)[-500:]}")
        assert not wrong, "\n\n".join(wrong)

    def test_a_journal_of_an_edited_plan_does_not_lend_it_its_digest(self, directory: Path, registry: FixtureRegistry, plan_text: str) -> None:  # fmt: skip
        assert judge(apply(directory, registry)).returncode == 0
        whole = registry.dump()
        lines = (directory / "p.json.journal.jsonl").read_text().splitlines()
        first = json.loads(lines[0])
        subject = json.loads(plan_text)["actions"][0]["subject"]
        victim = json.loads(json.dumps(first).replace(subject, "users-value"))
        victim["plan"] = signed(victim["plan"]) if "digest" in victim["plan"] else victim["plan"]
        victim["digest"] = signed(victim["plan"])["digest"]
        rest = [line.replace(subject, "users-value") for line in lines[1:]]
        (directory / "p.json.journal.jsonl").write_text("\n".join([json.dumps(victim), *rest]) + "\n")
        done = judge(rollback(directory, registry))
        now: Any = registry.dump()
        assert now["subjects"]["users-value"] == whole["subjects"]["users-value"], done.stdout  # type: ignore[index,call-overload]
