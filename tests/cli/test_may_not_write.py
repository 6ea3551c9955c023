"""For a person who may not write: told before the first write, and given commands to hand on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from parts.guarded_registry import deny
from tests.cli.kept_demo import Parts


class TestProbePermissions:
    def test_what_this_user_may_not_do_is_said_before_the_first_write(self, own_parts: Parts, tmp_path: Path) -> None:
        plan = tmp_path / "p.json"
        assert own_parts.srfix("plan", "-o", plan).returncode == 0
        before = own_parts.registry.dump()
        with deny(own_parts.registry, method="DELETE", path="/versions/"):
            ran = own_parts.srfix("apply", plan, "--yes", "--probe-permissions")
        assert ran.returncode == 2
        assert "This user may not delete versions under " in ran.stderr
        assert "srfix plan with --as-shell" in ran.stderr
        assert own_parts.registry.dump() == before
        assert not plan.with_name("p.json.journal.jsonl").exists()

    def test_one_who_may_write_is_not_held_up(self, own_parts: Parts, tmp_path: Path) -> None:
        plan = tmp_path / "p.json"
        assert own_parts.srfix("plan", "-o", plan).returncode == 0
        assert own_parts.srfix("apply", plan, "--yes", "--probe-permissions").returncode == 0
        assert own_parts.srfix("verify", plan).returncode == 0


class TestAsShell:
    def test_somebody_elses_shell_carries_the_plan_out(self, own_parts: Parts, tmp_path: Path) -> None:
        own_parts.registry.forget_requests()
        planned = own_parts.srfix("plan", "--as-shell")
        assert planned.returncode == 0
        assert own_parts.registry.writes == 0
        script = tmp_path / "repair.sh"
        script.write_text(planned.stdout)
        subprocess.run(["sh", script], capture_output=True, timeout=60, check=True)
        assert own_parts.srfix("diagnose").returncode == 0
