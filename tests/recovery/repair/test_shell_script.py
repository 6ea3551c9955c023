"""A plan as commands: run by a real shell with a real curl, it does what `srfix apply` does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.shell_script import shell_script
from srfix.serde.registry.client import RegistryClient
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, clock, plan_of


def run(plan: Plan, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "repair.sh"
    script.write_text(shell_script(plan))
    return subprocess.run(["sh", str(script), *arguments], capture_output=True, text=True, timeout=60, check=False)


class TestShellScript:
    def test_it_leaves_the_registry_as_apply_leaves_it(
        self, registry: FixtureRegistry, client: RegistryClient, tmp_path: Path, journal_path: Path
    ) -> None:
        with FixtureRegistry() as other:
            for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
                other.seed(subject, text)
            with RegistryClient(other.url) as elsewhere:
                list(apply_plan(plan_of(elsewhere), elsewhere, journal_path, clock=clock))
            ran = run(plan_of(client), tmp_path)
            assert ran.returncode == 0, ran.stderr
            assert registry.dump() == other.dump()

    def test_the_registry_may_be_named_otherwise(
        self, registry: FixtureRegistry, client: RegistryClient, tmp_path: Path
    ) -> None:
        plan = plan_of(client)
        with FixtureRegistry() as other:
            for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
                other.seed(subject, text)
            assert run(plan, tmp_path, other.url).returncode == 0
        assert registry.writes == 0

    def test_it_stops_at_the_first_refusal(
        self, registry: FixtureRegistry, client: RegistryClient, tmp_path: Path
    ) -> None:
        registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=403, body="{}")))
        assert run(plan_of(client), tmp_path).returncode != 0
        assert [seen.method for seen in registry.write_log] == ["PUT", "POST", "DELETE"]
        assert client.config(PHANTOM) is None

    def test_it_stops_when_another_id_comes_back(
        self, registry: FixtureRegistry, client: RegistryClient, tmp_path: Path
    ) -> None:
        registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=200, body='{"id":99}')))
        ran = run(plan_of(client), tmp_path)
        assert ran.returncode == 1
        assert ran.stderr == (f"expected 1, got '99': stopped\nThe compatibility of {PHANTOM} was put back.\n")

    def test_it_says_how_to_undo_it(self, client: RegistryClient) -> None:
        undo = shell_script(plan_of(client)).partition("# To undo it, last step first:")[2]
        assert f"subjects/{PHANTOM}/versions/VERSION?permanent=true" in undo.replace("'", "").replace('"', "")


@pytest.mark.parametrize("subject", ["a/b c-value", "it's-$(touch x)-value", "a%b:c-value", "x`y`-value"])
def test_a_subject_is_percent_encoded_whatever_it_contains(subject: str, tmp_path: Path) -> None:
    with FixtureRegistry() as registry:
        registry.seed(SOURCE_SUBJECT, W1)
        registry.seed(SOURCE_SUBJECT, W2)
        registry.seed(subject, R)
        with RegistryClient(registry.url) as client:
            plan = plan_of(client, subject)
        ran = run(plan, tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert {seen.status for seen in registry.write_log} == {200}
        assert sorted(tmp_path.iterdir()) == [tmp_path / "repair.sh"]
