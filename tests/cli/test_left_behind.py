"""What a plan leaves behind, and what an earlier repair has left: said in the plan, after apply, and before a plan is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.guarded_registry import deny
from srfix.fixtures.registry.http.intercept import Answer, Fault
from tests.cli.kept_demo import Parts, document


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return tmp_path / "p.json"


class TestIdThatTheRegistryLost:
    def test_neither_the_plan_nor_apply_promises_its_rows(self, own_parts: Parts, plan: Path) -> None:
        for permanent in (False, True):
            own_parts.client.delete_version(own_parts.staged.source_subject, 1, permanent=permanent)
        lost = own_parts.srfix("diagnose").stdout.partition("SRF011, broken")[2]
        assert "under the phantom subject" in lost
        assert [line.split()[-2:] for line in lost.splitlines() if line.startswith("1  ")] == [["no", "no"]]

        shown = own_parts.srfix("plan", "-o", plan).stdout
        assert "(SRF011), and this plan does not repair that" in shown.partition("Not in this plan")[2]
        applied = own_parts.srfix("apply", plan, "--yes")
        assert applied.returncode == 0
        subject = own_parts.staged.phantom_subject
        still = f"This plan leaves out schema id 1 under {subject}. Rows with such an id still fail."
        assert still in applied.stdout
        assert applied.stdout.index(still) < applied.stdout.index("Running instances can read")
        assert own_parts.srfix("verify", plan).returncode == 1


def test_without_a_census_what_must_not_be_done_to_a_query_is_said(own_parts: Parts, plan: Path) -> None:
    shown = own_parts.srfix("plan", "--all-versions", "-o", plan).stdout
    assert "do not TERMINATE or DROP a query" in shown
    assert document(plan.read_text())["applications"][0]["ksqldb"]["query"] == "CSAS_J_0"


class TestRepairThatStopped:
    @pytest.fixture(autouse=True)
    def stopped(self, own_parts: Parts, plan: Path) -> None:
        assert own_parts.srfix("plan", "-o", plan).returncode == 0
        refusal = Answer(status=403, body='{"error_code":40301,"message":"User is denied operation Write"}')
        with own_parts.registry.intercept(Fault(writes_only=True, calls=(4,), action=refusal)):
            assert own_parts.srfix("apply", plan, "--yes").returncode == 3

    def test_its_plan_is_not_replaced(self, own_parts: Parts, plan: Path) -> None:
        before = plan.read_bytes()
        again = own_parts.srfix("plan", "-o", plan, "--registry", "http://127.0.0.1:1")
        assert (again.returncode, plan.read_bytes()) == (2, before)
        assert f"{plan} was not replaced" in again.stderr
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        assert own_parts.srfix("rollback", plan, "--yes").returncode == 0
        assert own_parts.srfix("plan", "-o", plan).returncode == 0

    def test_another_plan_says_that_it_would_keep_what_was_left(self, own_parts: Parts, plan: Path) -> None:
        shown = own_parts.srfix("plan", "-o", plan.with_name("other.json")).stdout
        assert f"A repair of {own_parts.staged.phantom_subject} may have been interrupted" in shown


class TestRollbackThatUndoesNothing:
    @pytest.fixture(autouse=True)
    def applied(self, own_parts: Parts, plan: Path) -> None:
        assert own_parts.srfix("plan", "-o", plan).returncode == 0
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0

    def test_with_a_wrong_password_it_has_not_begun(self, own_parts: Parts, plan: Path) -> None:
        with deny(own_parts.registry, status=401):
            refused = own_parts.srfix("rollback", plan, "--yes")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0

    def test_without_the_right_to_write_it_claims_nothing(self, own_parts: Parts, plan: Path) -> None:
        with deny(own_parts.registry, writes_only=True):
            refused = own_parts.srfix("rollback", plan, "--yes")
        assert (refused.returncode, refused.stdout.splitlines()[0]) == (3, "Not rolled back")
        undone = own_parts.srfix("rollback", plan, "--yes")
        assert undone.returncode == 0
        assert "by an earlier run" not in undone.stdout
