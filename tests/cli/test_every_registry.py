"""The whole story, `diagnose → plan → apply → verify → diagnose → rollback`, `doctor` and `subjects`, on every registry.

Which deviations stand behind a name say `Habits` and `WAYS`, the tables of this file. The broker is the same for all:
the damage gives the same three ids in every registry. The command runs in this process, for the sake of time; that the
installed one does the same is tested elsewhere (`test_acceptance`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

from parts.guarded_registry import GuardedRegistry, deny, follower
from parts.registries.known import APICURIO, AXONOPS, KARAPACE
from srfix.cli.main import main
from srfix.fixtures.registry.emulation import Habits, Release
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.plans.journal_file import Journal
from srfix.recovery.repair.plan_file import Omission, load_plan, save_plan
from srfix.serde.properties import registry as registry_properties
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.schemas.models import Json
from srfix.serde.wire import SchemaId
from tests.cli.kept_demo import Parts
from tests.serde.fakes import Clock
from tests.telling import slow_but


class Kind(NamedTuple):
    habits: Habits = Habits()
    emulate: Release = "7.9"
    level: str = "BACKWARD"
    own: Mapping[str, Json] | None = None
    """What the phantom subject has configured for itself."""
    base_path: str = ""
    indent: int | None = None
    """How the texts of the schemas were indented when they were registered; None for not at all."""


OWN: Mapping[str, Json] = {"compatibility": "FULL", "normalize": True}
CCOMPAT = "/apis/ccompat/v7"
BEFORE_7 = Habits(lacks_schema_list=True, ignores_subject_prefix=True)
KINDS: Mapping[str, Kind] = {
    "confluent 7.9, 409": Kind(),
    "confluent 7.9, own config": Kind(own=OWN),
    "confluent 8.2, 40901": Kind(emulate="8.2"),
    "confluent before 7.0, no GET /schemas": Kind(BEFORE_7),
    "no modes, 405": Kind(Habits(lacks_modes=True, unknown_path="empty")),
    "karapace, sorted keys, 50003 for 15 s": Kind(KARAPACE),
    "karapace, own config": Kind(KARAPACE, own={"compatibility": "FULL"}),
    "axonops, own config": Kind(AXONOPS, own=OWN),
    "apicurio, base path": Kind(APICURIO, level="NONE", base_path=CCOMPAT),
    "apicurio, set to BACKWARD, texts with blanks": Kind(APICURIO, indent=1),
    "apicurio, own config": Kind(APICURIO, own={"compatibility": "FULL_TRANSITIVE"}),
}


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A registry that holds the damage, and how to get there."""

    registry: FixtureRegistry
    urls: str
    properties: tuple[str, ...] = ()
    """What `-R` gives."""


class Told:
    """Runs commands in this process."""

    def __init__(self, parts: Parts, reached: Reached, capture: pytest.CaptureFixture[str]) -> None:
        self.said = ""
        """What the last command said on stderr."""
        self._capture = capture
        self._options = ["--registry", reached.urls, *(f"-R{one}" for one in reached.properties)]
        self._cluster = ["--bootstrap-servers", parts.broker.bootstrap_servers]

    def __call__(self, command: str, *arguments: str, code: int = 0) -> dict[str, Any]:
        """The document that a command writes; `code` is the exit code that it must have."""
        options = self._options if command in ("apply", "rollback") else [*self._options, *self._cluster]
        self._capture.readouterr()
        ended = main([command, *arguments, *options, "--output", "json"])
        out, err = self._capture.readouterr()
        assert (ended, "Traceback" in err) == (code, False), err
        self.said = err
        document: dict[str, Any] = json.loads(out) if out else {}
        return document


def damaged(parts: Parts, registry: FixtureRegistry, *, context: str = "", indent: int | None = None) -> None:
    """Seeds what the shared registry holds, so that the ids are those in the broker's records."""
    subjects = parts.registry.dump()["subjects"]
    assert isinstance(subjects, dict)
    rows = [(version, subject) for subject, versions in subjects.items() for version in rows_of(versions)]
    for version, subject in sorted(rows, key=lambda row: int(row[0]["id"])):
        text = version["schema"] if indent is None else json.dumps(json.loads(version["schema"]), indent=indent)
        assert registry.seed(f"{context}{subject}", text) == version["id"]
    registry.forget_requests()


def rows_of(versions: Json) -> list[Any]:
    assert isinstance(versions, list)
    return [*versions]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SRFIX_REGISTRY", "SRFIX_BOOTSTRAP_SERVERS", "SRFIX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(registry_properties, "_retry_policy", lambda _: RetryPolicy(sleep=made.sleep))
    return made


def findings(document: Mapping[str, Any]) -> dict[str, str]:
    return {finding["code"]: finding["severity"] for finding in document["findings"]}


def the_story(parts: Parts, reached: Reached, capture: pytest.CaptureFixture[str]) -> None:
    """Goes the whole way; what was there before is there after it."""
    registry, run = reached.registry, Told(parts, reached, capture)
    before = registry.dump()

    assert findings(run("diagnose", code=1))["SRF001"] == "broken"
    plan = run("plan", "-o", "p.json")
    checks = run("doctor")["checks"]
    assert [check["what"] for check in checks if check["part"] == "registry" and check["outcome"] == "denied"] == []
    # The embedded broker lists no groups.
    [internal] = run("subjects", code=2)["subjects"]
    assert internal["subject"] == parts.staged.phantom_subject
    assert internal["class"] == "changelog without a topic"
    assert (registry.dump(), registry.writes) == (before, 0)

    applied = run("apply", "p.json", "--yes")
    assert [step["outcome"] for step in applied["steps"]] == ["done"] * len(plan["actions"])
    assert registry.dump()["configs"] == before["configs"]
    assert run("verify", "p.json")["verified"] is True
    assert findings(run("diagnose")) == {"SRF003": "note"}

    assert run("rollback", "p.json", "--yes")["left"] == []
    assert registry.dump() == before


class TestKinds:
    @pytest.mark.parametrize("name", slow_but(KINDS, "karapace, own config", "apicurio, base path"))
    def test_the_story_is_the_same(
        self, name: str, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str], clock: Clock
    ) -> None:
        kind = KINDS[name]
        with GuardedRegistry(
            compatibility=kind.level,
            emulate=kind.emulate,
            habits=kind.habits,
            base_path=kind.base_path,
            clock=clock,
        ) as registry:
            damaged(shared_parts, registry, indent=kind.indent)
            if kind.own is not None:
                registry.configure(shared_parts.staged.phantom_subject, kind.own)
            the_story(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            assert clock.now >= kind.habits.takes_writes_after_s


class TestLevelThatMayBeInherited:
    def test_the_level_is_handed_back_to_what_it_inherits_and_normalize_stays(
        self, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        phantom = shared_parts.staged.phantom_subject
        with FixtureRegistry() as registry:
            damaged(shared_parts, registry)
            registry.configure(phantom, {"normalize": True})
            run = Told(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            price = run("plan", "-o", "p.json")["price"]
            assert len([line for line in price if "is the subject's own, or inherited" in line]) == 1
            run("apply", "p.json", "--yes")
            assert registry.dump()["configs"] == {phantom: {"normalize": True}}
            run("verify", "p.json")

    def test_a_level_that_is_not_in_force_is_not_put_back(
        self, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Apicurio answers NONE where there is none: written back, it would switch the checks off for good."""
        with FixtureRegistry(habits=APICURIO) as registry:
            damaged(shared_parts, registry)
            run = Told(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            price = run("plan", "-o", "p.json")["price"]
            assert [line for line in price if "or inherited" in line] == []
            run("apply", "p.json", "--yes")
            assert registry.dump()["configs"] == {}


class TestNoneIsStillRefused:
    def test_a_repair_that_meets_409_after_all_is_undone_whole(
        self, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Apicurio 3.0.9 and 2.6.13: NONE is set, and the registration is refused all the same."""
        with FixtureRegistry(habits=Habits(refuses_at_none=True)) as registry:
            damaged(shared_parts, registry)
            run = Told(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            before = registry.dump()
            run("plan", "-o", "p.json")
            run("apply", "p.json", "--yes", code=3)
            assert "srfix rollback" in run.said
            assert registry.dump()["configs"] != before["configs"]
            run("rollback", "p.json", "--yes")
            assert registry.dump() == before


class TestWhatAnApplySaysIsNoMoreThanItDid:
    def test_a_registry_that_finds_nothing_soft_deleted_is_noticed_and_a_second_plan_mends_it(
        self, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with FixtureRegistry(habits=Habits(looks_up_live_only=True)) as registry:
            damaged(shared_parts, registry)
            run = Told(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            run("plan", "-o", "p.json", "--keep", "soft-deleted")
            [line] = run("apply", "p.json", "--yes")["next"]
            assert "does not find the soft-deleted version" in line
            run("verify", "p.json", code=1)
            run("plan", "-o", "q.json")
            assert not any("soft-deleted" in line for line in run("apply", "q.json", "--yes")["next"])
            assert run("verify", "q.json")["verified"] is True

    def test_what_the_plan_left_out_is_still_missing(
        self, shared_parts: Parts, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with FixtureRegistry() as registry:
            damaged(shared_parts, registry)
            run = Told(shared_parts, Reached(registry=registry, urls=registry.url), capsys)
            run("plan", "-o", "p.json")
            phantom = shared_parts.staged.phantom_subject
            left = Omission(subject=phantom, reason="hopeless", schema_ids=(SchemaId(98), SchemaId(99)))
            save_plan(replace(load_plan(here / "p.json"), omissions=(left,)), here / "q.json")
            assert f"schema ids 98 and 99 under {phantom}" in run("apply", "q.json", "--yes")["next"][0]


class TestFollowerAlone:
    @pytest.mark.parametrize(
        ("code", "hint"),
        [(42205, "name the leader's URL"), (50004, "name the URL of a node that can become the leader")],
    )
    def test_it_is_diagnosed_and_planned_and_the_repair_says_where_to_go(
        self,
        code: int,
        hint: str,
        shared_parts: Parts,
        here: Path,
        capsys: pytest.CaptureFixture[str],
        clock: Clock,
    ) -> None:
        with FixtureRegistry() as leader, follower(leader, code=code) as node:
            damaged(shared_parts, leader)
            run = Told(shared_parts, Reached(registry=node, urls=node.url), capsys)
            before = leader.dump()
            assert findings(run("diagnose", code=1))["SRF001"] == "broken"
            run("plan", "-o", "p.json")
            run("apply", "p.json", "--yes", code=2 if code == 42205 else 3)
            assert f"error {code}" in run.said
            assert hint in run.said
            assert leader.dump() == before
            run("rollback", "p.json", "--yes")
            assert leader.dump() == before


@contextmanager
def tls_and_a_password(parts: Parts, folder: Path) -> Iterator[Reached]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    (folder / "password").write_text("p:w")
    with GuardedRegistry(tls=(folder / "server.pem", folder / "server.pem"), basic_auth={"me": "p:w"}) as registry:
        damaged(parts, registry)
        yield Reached(
            registry=registry,
            urls=registry.url,
            properties=("ssl.ca.location=ca.pem", "basic.auth.user.info=me:file:password"),
        )


@contextmanager
def a_token_that_changes_while_it_runs(parts: Parts, folder: Path) -> Iterator[Reached]:
    """Before each step of the repair the token in the file is exchanged, and the old one is no good any more."""
    file, write, used = folder / "token", Journal.write, iter(range(100))
    file.write_text("t0")
    with (
        GuardedRegistry(bearer_tokens={f"me with t{number}": f"t{number}" for number in range(100)}) as registry,
        pytest.MonkeyPatch.context() as patch,
    ):
        damaged(parts, registry)

        def exchange(journal: Journal, event: str, **details: Json) -> None:
            if event == "before":
                number = next(used)
                deny(registry, user=f"me with t{number}", status=401)
                file.write_text(f"t{number + 1}")
            write(journal, event, **details)

        patch.setattr(Journal, "write", exchange)
        yield Reached(registry=registry, urls=registry.url, properties=("bearer.auth.token=file:token",))
        assert next(used) > 1


@contextmanager
def the_url_of_a_context(parts: Parts, folder: Path) -> Iterator[Reached]:
    with FixtureRegistry(emulate="8.2") as registry:
        registry.seed("users-value", '"string"')  # another schema with the same id, in the default context
        damaged(parts, registry, context=":.shop:")
        yield Reached(registry=registry, urls=f"{registry.url}/contexts/.shop")


WAYS: tuple[Callable[[Parts, Path], AbstractContextManager[Reached]], ...] = (
    tls_and_a_password,
    a_token_that_changes_while_it_runs,
    the_url_of_a_context,
)


class TestWays:
    @pytest.mark.parametrize("way", slow_but(WAYS, tls_and_a_password), ids=lambda way: way.__name__)
    def test_the_story_is_the_same(
        self,
        way: Callable[[Parts, Path], AbstractContextManager[Reached]],
        shared_parts: Parts,
        here: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        with way(shared_parts, here) as reached:
            the_story(shared_parts, reached, capsys)
