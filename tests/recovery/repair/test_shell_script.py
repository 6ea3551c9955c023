"""A plan as commands: run by a real shell with a real curl, it does what `srfix apply` does."""

from __future__ import annotations

import subprocess
from pathlib import Path

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import shell_script
from tests.recovery.repair.scene import Scene, staged_scene
from tests.recovery.staging import PHANTOM


def run(scene: Scene, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = scene.journal.with_name("repair.sh")
    script.write_text(shell_script(scene.plan))
    return subprocess.run(["sh", str(script), *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_it_leaves_a_registry_however_named_as_apply_leaves_it(scene: Scene, tmp_path: Path) -> None:
    with staged_scene(tmp_path) as other:
        assert run(scene, other.registry.url).returncode == 0
        assert scene.registry.writes == 0
        scene.apply()
        assert scene.registry.dump() == other.registry.dump()


def test_it_stops_at_the_first_refusal(scene: Scene) -> None:
    scene.registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=403, body="{}")))
    assert run(scene).returncode != 0
    assert [seen.method for seen in scene.registry.write_log] == ["PUT", "POST", "DELETE"]
    assert scene.client.config(PHANTOM) is None


def test_it_stops_when_another_id_comes_back(scene: Scene) -> None:
    scene.registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=200, body='{"id":99}')))
    ran = run(scene)
    assert ran.returncode == 1
    assert "expected 1, got '99'" in ran.stderr
    assert scene.client.config(PHANTOM) is None


def test_it_says_how_to_undo_it(scene: Scene) -> None:
    undo = shell_script(scene.plan).partition("# To undo it, last step first:")[2]
    assert f"subjects/{PHANTOM}/versions/VERSION?permanent=true" in undo.replace("'", "").replace('"', "")
