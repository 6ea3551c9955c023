"""`--ignore`, and a diagnosis of an application of which nothing was examined, through the installed command."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.damaged_stores import INTERNAL, PHANTOM
from tests.cli.kept_demo import srfix

ORPHAN = "dead-store-changelog-value"


@pytest.fixture(autouse=True)
def orphan(schemas: FixtureRegistry) -> None:
    """Beside the application that lives, a dead one's subject."""
    schemas.seed(ORPHAN, INTERNAL)


class TestAnOrphan:
    @pytest.mark.parametrize("how", ["flag", "environment", "file"])
    def test_acknowledged_it_is_one_line_and_the_rest_is_healthy(
        self, where: dict[str, str], how: str, tmp_path: Path
    ) -> None:
        config = tmp_path / "srfix.toml"
        config.write_text('ignore = ["dead-*"]\n')
        arguments = {"flag": ("--ignore", "dead-*"), "file": ("--config", str(config))}.get(how, ())
        variables = {"SRFIX_IGNORE": "dead-*"} if how == "environment" else {}
        done = srfix("diagnose", *arguments, env=where | variables)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("Nothing is broken now apart from ignored things.")
        assert "--ignore dead-* hides 1 skipped check.\n" in done.stdout
        assert done.stderr.endswith(", 1 ignored.\n")


class TestABrokenStore:
    def test_it_is_shown_with_its_severity(self, where: dict[str, str], schemas: FixtureRegistry) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        assert srfix("diagnose", env=where).returncode == 1
        done = srfix("diagnose", "--ignore", "shop-*", "--ignore", ORPHAN, env=where)
        assert done.returncode == 0, done.stdout + done.stderr
        [line] = [line for line in done.stdout.splitlines() if line.startswith("--ignore ")]
        assert "SRF001 shop/users-store, broken" in line
        assert line.startswith(f"--ignore shop-*, {ORPHAN} hides ")
        assert "What to do" not in done.stdout

    def test_a_plan_leaves_it_out_and_says_so(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        kept = srfix("plan", "-o", "p.json", "--ignore", "dead-*", env=where, cwd=tmp_path)
        assert (kept.returncode, (tmp_path / "p.json").exists()) == (0, True)
        assert PHANTOM in kept.stdout
        done = srfix("plan", "--ignore", "*-changelog-*", "--detailed-exitcode", env=where, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert PHANTOM not in done.stdout
        assert "SRF001 shop/users-store, broken" in done.stderr
        wide = srfix("plan", "--ignore", "*-changelog-*", "--all-versions", env=where, cwd=tmp_path)
        assert PHANTOM not in wide.stdout


class TestAnApplicationOfWhichNothingWasExamined:
    def test_it_is_not_healthy_and_says_what_to_name(self, where: dict[str, str]) -> None:
        done = srfix("diagnose", "--application", "shop", env=where)
        assert done.returncode == 2
        assert "this does not mean that all is well" in done.stdout
        assert "the stores of application shop: no store was examined." in done.stdout
        for option in ("--store NAME", "--state-dir DIR", "--topology FILE"):
            assert option in done.stdout

    def test_a_plan_says_it_too(self, where: dict[str, str]) -> None:
        done = srfix("plan", "--application", "shop", env=where)
        assert done.returncode == 2
        assert "the stores of application shop: no store was examined." in done.stderr
