"""The whole way on the kept demo, as a person goes it: diagnose, plan, apply, verify, rollback."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kept_demo import SRFIX, KeptDemo, environment, kept_demo, srfix


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDemo]:
    with kept_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


def findings(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    document = json.loads(done.stdout)
    assert document["schema"] == "srfix.diagnosis/2"
    found: list[dict[str, Any]] = document["findings"]
    return found


def without_commands(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What was found, without the commands that repeat what was given."""
    return [{name: said for name, said in finding.items() if name != "next"} for finding in findings(done)]


def told(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The report, if the command ended with that code."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


class TestTheWholeWay:
    def test_diagnose_plan_apply_verify_and_back(self, demo: KeptDemo, tmp_path: Path) -> None:
        def run(*arguments: str, expected: int) -> subprocess.CompletedProcess[str]:
            done = srfix(*arguments, cwd=tmp_path, env=demo.environment)
            told(done, expected)
            return done

        before = demo.dump()
        broken = findings(run("diagnose", "--output", "json", expected=1))
        assert [finding["code"] for finding in broken if finding["severity"] != "note"] == ["SRF001"]
        run("plan", "-o", "p.json", expected=0)
        to_output = run("plan", "-o", "-", expected=0)
        assert json.loads(to_output.stdout)["actions"] == json.loads((tmp_path / "p.json").read_text())["actions"]
        assert not (tmp_path / "-").exists()
        assert demo.dump() == before

        applied = json.loads(run("apply", "p.json", "--yes", "--output", "json", expected=0).stdout)
        repaired = demo.dump()
        assert repaired != before
        assert [step["outcome"] for step in applied["steps"]] == ["done"] * len(applied["steps"])

        # Neither names a cluster or a registry: the plan knows.
        verified = srfix("verify", "p.json", "--output", "json", cwd=tmp_path)
        assert json.loads(told(verified, 0))["verified"] is True
        assert {finding["code"] for finding in findings(run("diagnose", "--output", "json", expected=0))} == {"SRF003"}

        again = json.loads(told(srfix("apply", "p.json", "--yes", "--output", "json", cwd=tmp_path), 0))
        assert again["steps"] == []
        assert demo.dump() == repaired

        undone = json.loads(
            told(srfix("rollback", "--yes", "p.json.journal.jsonl", "--output", "json", cwd=tmp_path), 0)
        )
        assert undone["left"] == []
        assert demo.dump() == before
        assert findings(run("diagnose", "--output", "json", expected=1)) == broken

        # A plan whose repair was rolled back can be carried out again, with a journal of its own.
        run("apply", "p.json", "--yes", expected=0)
        assert demo.dump()["subjects"].keys() == before["subjects"].keys()
        assert (tmp_path / "p.json.journal.jsonl.1").exists()
        run("rollback", "--yes", "p.json", expected=0)  # the plan's own name does as well
        assert demo.dump() == before


class TestDiagnose:
    def test_flags_environment_and_configuration_file_lead_to_the_same_report(
        self, demo: KeptDemo, tmp_path: Path
    ) -> None:
        servers, registry = demo.ready["bootstrap_servers"], demo.ready["registry"]
        config = tmp_path / "srfix.toml"
        config.write_text(f'bootstrap-servers = "{servers}"\nregistry = ["{registry}"]\noutput = "json"\n')
        flags = srfix("diagnose", "--bootstrap-servers", servers, "--registry", registry, "--output", "json")
        variables = srfix("diagnose", env={**demo.environment, "SRFIX_OUTPUT": "json"})
        file = srfix("diagnose", "--config", config)
        assert without_commands(flags) == without_commands(variables) == without_commands(file)
        where = f"--bootstrap-servers {servers} --registry {registry}"
        assert f"`srfix plan {where} --application" in findings(flags)[0]["next"]
        assert "`srfix plan --application" in findings(variables)[0]["next"]
        assert f"`srfix plan --config {config} --application" in findings(file)[0]["next"]
        assert (flags.returncode, variables.returncode, file.returncode) == (1, 1, 1)

    @pytest.mark.slow
    def test_report_and_summary_stand_in_order_where_both_go_to_one_file(self, demo: KeptDemo) -> None:
        done = subprocess.run(
            [SRFIX, "diagnose", "--output", "json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
            env=environment(demo.environment),
        )
        assert done.stdout.endswith("\n}\n1 finding, 1 store examined, 3 things not looked at.\n")


class TestPlan:
    def test_a_plan_that_has_something_to_do_is_1_when_details_are_asked_for(
        self, demo: KeptDemo, tmp_path: Path
    ) -> None:
        done = srfix("plan", "-o", tmp_path / "p.json", "--detailed-exitcode", "--output", "json", env=demo.environment)
        plan = json.loads(told(done, 1))
        assert json.loads((tmp_path / "p.json").read_text()) == plan
        assert plan["schema"] == "srfix.plan/1"
        assert [action["kind"] for action in plan["actions"]] == [
            "set-compatibility",
            "register",
            "soft-delete",
            "register",
            "soft-delete",
            "restore-compatibility",
        ]
        assert {action["subject"] for action in plan["actions"]} == {demo.ready["phantom_subject"]}
        assert done.stderr.startswith(f"Plan written to {tmp_path / 'p.json'}.")


class TestKeep:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_well_and_leaves_nothing_running(self, number: signal.Signals, tmp_path: Path) -> None:
        with kept_demo(tmp_path) as running:
            assert running.ready["pid"] == running.process.pid
            code, out, err = running.stop(number)
        assert (code, err) == (0, "")
        for where in (running.ready["bootstrap_servers"], running.ready["registry"].removeprefix("http://")):
            host, _, port = where.partition(":")
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)), timeout=10)
        assert f"  export SRFIX_REGISTRY={running.ready['registry']}\n" in out
        assert "  srfix rollback p.json  " in out
        assert out.endswith("Ctrl-C here ends the demo.\nStopped.\n")
        assert [path.name for path in tmp_path.iterdir()] == ["ready.json"]

    def test_a_ready_file_without_keep_is_a_usage_error(self, tmp_path: Path) -> None:
        done = srfix("demo", "--ready-file", tmp_path / "ready.json")
        assert (done.returncode, done.stdout) == (2, "")
        assert "Give --keep, too" in done.stderr
