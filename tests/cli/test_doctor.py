"""`srfix doctor` through the installed command."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from tests.cli.kept_demo import Parts, srfix

CREATE_TOPICS, OFFSET_COMMIT, PRODUCE, JOIN_GROUP = 19, 8, 0, 11
NOBODY = "127.0.0.1:9"
FORBIDDEN = Answer(status=403, body='{"error_code":40301,"message":"User is denied operation"}')
UNAUTHORIZED = Answer(status=401, body='{"error_code":401,"message":"Unauthorized"}')


def checks(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, dict[str, Any]]:
    assert done.returncode == code, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "srfix.doctor/1"
    assert document["healthy"] is (code == 0)
    return {check["what"]: check for check in document["checks"]}


class TestAHealthyPlace:
    def test_everything_that_diagnose_needs_is_there(self, parts: Parts) -> None:
        before = parts.broker.requests()
        found = checks(parts.srfix("doctor", "--application", damage.APPLICATION, "--output", "json"))
        after = parts.broker.requests()
        assert {what: check["outcome"] for what, check in found.items()} == {
            f"bootstrap server {parts.broker.bootstrap_servers}": "ok",
            "list the topics": "ok",
            "list the consumer groups": "unsupported",
            f"read the committed offsets of {damage.APPLICATION}": "ok",
            f"registry {parts.registry.url}": "ok",
            "list the subjects": "ok",
            "read a subject's versions": "ok",
            "look a schema up by content": "ok",
            "find a schema by the text that Java's readers send": "ok",
            "read the global compatibility": "ok",
            "read the global mode": "ok",
        }
        assert found["read the global compatibility"]["detail"] == "BACKWARD"
        assert "answers as 7.9" in found[f"registry {parts.registry.url}"]["detail"]
        assert all(check["elapsed_ms"] >= 0 for check in found.values())
        assert parts.registry.writes == 0
        forbidden = (CREATE_TOPICS, OFFSET_COMMIT, PRODUCE, JOIN_GROUP)
        assert [after[kind] - before[kind] for kind in forbidden] == [0, 0, 0, 0]


class TestWhatCannotBeReached:
    @pytest.mark.slow
    def test_one_server_of_several_is_named_and_does_not_matter(self, parts: Parts) -> None:
        done = parts.srfix(
            "doctor",
            "--bootstrap-servers",
            f"{NOBODY},{parts.broker.bootstrap_servers}",
            "--registry",
            f"http://somebody:hush-hush@{NOBODY},{parts.registry.url}",
            "--output",
            "json",
        )
        found = checks(done)
        assert found[f"bootstrap server {NOBODY}"]["outcome"] == "failed"
        assert found[f"registry http://{NOBODY}"]["outcome"] == "failed"
        assert found["list the topics"]["outcome"] == found["list the subjects"]["outcome"] == "ok"
        assert "hush" not in done.stdout + done.stderr

    @pytest.mark.slow
    def test_nobody_at_all_is_2_with_what_is_missing(self) -> None:
        done = srfix("doctor", "--bootstrap-servers", NOBODY, "--registry", f"http://{NOBODY}", "--output", "json")
        found = checks(done, code=2)
        assert "Connection refused" in found[f"bootstrap server {NOBODY}"]["detail"]
        assert "connection refused" in found[f"registry http://{NOBODY}"]["detail"]
        assert done.stderr == "diagnose cannot work yet: list the topics; list the subjects.\n"


class TestWhatIsDenied:
    @pytest.mark.parametrize(
        ("method", "path", "what", "right", "code"),
        [
            ("GET", r"^/subjects\?", "list the subjects", "GLOBAL_READ", 2),
            ("GET", "^/subjects/.*/versions", "read a subject's versions", "SUBJECT_READ", 2),
            ("POST", "^/subjects/", "look a schema up by content", "SUBJECT_READ", 2),
            ("GET", "^/config$", "read the global compatibility", "GLOBAL_COMPATIBILITY_READ", 0),
            ("GET", "^/mode$", "read the global mode", "GLOBAL_COMPATIBILITY_READ", 0),
        ],
    )
    def test_the_right_to_ask_for_is_named(
        self, parts: Parts, method: str, path: str, what: str, right: str, code: int
    ) -> None:
        with parts.registry.intercept(Fault(method=method, path=path, action=FORBIDDEN)):
            found = checks(parts.srfix("doctor", "--output", "json"), code)
        assert found[what]["outcome"] == "denied"
        assert right in found[what]["advice"]

    def test_a_user_that_the_registry_does_not_know_is_a_matter_of_credentials(self, parts: Parts) -> None:
        with parts.registry.intercept(Fault(action=UNAUTHORIZED)):
            found = checks(parts.srfix("doctor", "--output", "json"), code=2)
        assert found["list the subjects"]["outcome"] == "denied"
        assert found["list the subjects"]["advice"].startswith("Check the credentials")

    def test_a_read_only_registry_is_fine_for_diagnose_and_not_for_a_repair(self, parts: Parts) -> None:
        read_only = Answer(status=200, body='{"mode":"READONLY"}')
        with parts.registry.intercept(Fault(method="GET", path="^/mode$", action=read_only)):
            found = checks(parts.srfix("doctor", "--output", "json"))
        assert found["read the global mode"]["detail"] == "READONLY"
        assert "42205" in found["read the global mode"]["advice"]

    def test_a_registry_that_does_not_tell_its_version_is_a_registry(self, parts: Parts) -> None:
        nothing = Answer(status=404, body="", content_type="text/html")
        with parts.registry.intercept(Fault(path="^/v1/metadata", action=nothing)):
            found = checks(parts.srfix("doctor", "--output", "json"))
        assert found[f"registry {parts.registry.url}"]["detail"].startswith("answers, but does not show its version")
