"""srfix's own image: it runs the demo, as nobody, with nothing that it could hurt or build with."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from parts.docker.engine import engine_answers
from parts.docker.own_image import build_own_image

pytestmark = pytest.mark.docker

ROOT: Final = Path(__file__).parents[2]
CONFINED: Final = (
    *("--network=none", "--read-only", "--tmpfs=/tmp", "--tmpfs=/work:mode=1777", "--cap-drop=ALL"),
    "--security-opt=no-new-privileges",
)


def docker(*arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    assert engine_answers(os.environ), "No Docker engine answers. Run make docker-test, which starts one where it may."
    name = f"srfix-under-test:{uuid4().hex[:12]}"
    build_own_image(ROOT, name, os.environ)
    try:
        yield name
    finally:
        docker("image", "rm", name)
        docker("image", "prune", "--force", "--filter=label=org.opencontainers.image.title=srfix")


def test_it_runs_the_demo_without_network_rights_or_a_disk(image: str) -> None:
    done = docker("run", "--rm", *CONFINED, image, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SRF001" in done.stdout


def test_it_is_the_command_and_says_its_version(image: str) -> None:
    done = docker("run", "--rm", *CONFINED, image, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"srfix {version('srfix')}, serde engine: ")
    assert docker("run", "--rm", *CONFINED, image, "explain", "nonsense").returncode == 2


def test_it_is_small(image: str) -> None:
    base = os.environ["PYTHON_IMAGE"]
    sizes = [int(docker("image", "inspect", "--format={{.Size}}", name).stdout) for name in (image, base)]
    assert sizes[0] - sizes[1] < 200e6, sizes


def test_it_runs_as_nobody(image: str) -> None:
    (described,) = json.loads(docker("image", "inspect", image).stdout)
    assert described["Config"]["User"] == "65532:65532"
    script = "import os; print(os.getuid(), os.getgid(), os.access('/opt/srfix', os.W_OK))"
    done = docker("run", "--rm", *CONFINED, "--entrypoint", "/opt/srfix/bin/python", image, "-c", script)
    assert done.stdout == "65532 65532 False\n", done.stderr


def test_a_plan_is_written_to_the_folder_that_is_mounted(image: str, tmp_path: Path) -> None:
    who = f"--user={os.getuid()}:{os.getgid()}"
    mounted = f"--volume={tmp_path}:/work"
    rest = ["--rm", "--network=none", who, mounted, "--entrypoint", "/opt/srfix/bin/python", image]
    done = docker("run", *rest, "-c", "open('plan.json', 'w').write('{}')")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == "{}"


def test_it_holds_nothing_to_build_with(image: str) -> None:
    """Neither pip in srfix's environment, nor sources or wheels."""
    script = "import importlib.util as u, os; print(u.find_spec('hatchling'), os.path.exists('/source'))"
    done = docker("run", "--rm", *CONFINED, "--entrypoint", "/opt/srfix/bin/python", image, "-c", script)
    assert done.stdout == "None False\n", done.stderr
    found = docker("run", "--rm", *CONFINED, "--entrypoint", "/opt/srfix/bin/python", image, "-m", "pip")
    assert "No module named pip" in found.stderr
