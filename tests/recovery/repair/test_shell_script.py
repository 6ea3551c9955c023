"""A plan as commands, run by real shells with a real curl: it does what `srfix apply` does, runs nothing that a name, a schema
or a registry says, and leaves no compatibility behind.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry import governed
from srfix.fixtures.registry.http.intercept import Answer, CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Plan, PlanError, shell_script
from srfix.recovery.actions.actions import Register, RestoreCompatibility, RestoreMode, SetCompatibility, SetMode
from srfix.recovery.repair.apply import apply_plan
from srfix.serde import RegistryClient, RetryPolicy, Schema, Subject, UsageError
from srfix.serde.schemas.models import Json
from tests.recovery.repair.scene import Scene, mostly_slow, staged_scene
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, clock, plan_of
from tests.serde.test_printable import HOSTILE, seen

SHELLS = [found for found in map(shutil.which, ("dash", "bash", "busybox")) if found is not None]
FIRST_SHELL, *OTHER_SHELLS = SHELLS
ONE_SHELL = [FIRST_SHELL, *(pytest.param(shell, marks=pytest.mark.slow) for shell in OTHER_SHELLS)]
"""For tests of which one shell is enough at first."""
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
CODE = (
    "$(touch pwned)",
    "`touch pwned`",
    "\ntouch pwned\n",
    "\r\ntouch pwned;#",
    "'; touch pwned; '",
    "'\\''; touch pwned; '",
    '"; touch pwned; "',
    "\nBODY\ntouch pwned\n",
    "\nBODY_\ntouch pwned\n",
    "\nANSWER\ntouch pwned\n",
    "${x:=$(touch pwned)}",
    "| touch pwned",
    "-K/etc/passwd",
    "@/etc/passwd",
    "../..",
    "{a,b}[1-9]*?",
    "%0atouch pwned",
    "\\",
    '","id":77,"version":78,"x":"',
    "é🦊",
)


def written(script: str, folder: Path, shell: str) -> list[str]:
    """The command that runs a script, which is written to a file."""
    path = folder / "repair.sh"
    path.write_text(script)
    return [shell, "sh", str(path)] if shell.endswith("busybox") else [shell, str(path)]


def is_shown(text: str) -> bool:
    return all(seen(character) or character == "\n" for character in text)


def run(script: str, *arguments: str, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    """Runs a script in a folder of its own, in which it must not leave anything."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
        command = [*written(script, Path(elsewhere), shell), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)
        assert os.listdir(folder) == []
    assert is_shown(done.stdout + done.stderr), done
    return done


@contextmanager
def staged(
    subject: str = PHANTOM, *, schemas: Sequence[str] = (W1, W2), config: dict[str, Json] | None = None
) -> Iterator[tuple[FixtureRegistry, RegistryClient, Plan]]:
    """A registry with the schemas under the source's subject, and a plan that registers them under another."""
    with ExitStack() as stack:
        registry = stack.enter_context(FixtureRegistry())
        client = stack.enter_context(RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)))
        for text in schemas:
            client.register(SOURCE_SUBJECT, Schema(text=text))
        client.register(subject, Schema(text=R))
        if config is not None:
            client.set_config(Subject(subject), config)
        texts = iter(schemas)
        plan = plan_of(client, subject)
        actions = tuple(
            replace(action, schema=Schema(text=next(texts))) if isinstance(action, Register) else action
            for action in plan.actions
        )
        registry.forget_requests()
        yield registry, client, replace(plan, actions=actions)


def with_doc(text: str, doc: str) -> str:
    return json.dumps({**json.loads(text), "doc": doc})


@pytest.fixture(autouse=True, scope="module")
def takes_any_subject() -> Iterator[None]:
    """Registries that are old, others', or hostile have subjects with control characters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(governed, "checked_subject", lambda subject, **_: subject)
        yield


def test_it_leaves_a_registry_however_named_as_apply_leaves_it(scene: Scene, tmp_path: Path) -> None:
    with staged_scene(tmp_path) as other:
        assert run(shell_script(scene.plan), other.registry.url).returncode == 0
        assert scene.registry.writes == 0
        scene.apply()
        assert scene.registry.dump() == other.registry.dump()


def test_it_says_how_to_undo_it(scene: Scene) -> None:
    undo = shell_script(scene.plan).partition("# To undo it, last step first:")[2]
    assert f"subjects/{PHANTOM}/versions/VERSION?permanent=true" in undo.replace("'", "").replace('"', "")


class TestNothingIsCode:
    @pytest.mark.parametrize("shell", SHELLS)
    def test_it_does_what_apply_does_and_nothing_else(self, shell: str, tmp_path: Path) -> None:
        code = "".join(CODE)
        subject = f"x{code}-value"
        schemas = (with_doc(W1, code), with_doc(W2, code[::-1]))
        config: dict[str, Json] = {"compatibility": "FULL", "compatibilityGroup": code}
        with staged(subject, schemas=schemas, config=config) as (applied, client, plan):
            before = applied.dump()
            list(apply_plan(plan, client, tmp_path / "journal", clock=clock))
            wanted = applied.dump()
            assert wanted != before
        with staged(subject, schemas=schemas, config=config) as (registry, _client, plan):
            word = "".join(HOSTILE)
            script = shell_script(replace(plan, price=(word, f"a\n{word}")))
            assert is_shown(script)
            done = run(script, shell=shell)
            assert done.returncode == 0, done.stderr
            assert registry.dump() == wanted

    @pytest.mark.parametrize("shell", ONE_SHELL)
    def test_schemas_may_be_longer_than_a_command_line(self, shell: str) -> None:
        schemas = (with_doc(W1, "'\"\\$`" * 30_000), with_doc(W2, "x" * 600_000))
        with staged(schemas=schemas) as (registry, client, plan):
            done = run(shell_script(plan), shell=shell)
            assert done.returncode == 0, done.stderr
            assert client.config(PHANTOM) is None
            assert len(client.versions(PHANTOM, deleted=True)) == 3
            assert {request.status for request in registry.write_log} == {200}

    def test_shellcheck_has_nothing_to_say(self) -> None:
        name = doc = url = "".join(CODE)
        with staged() as (_registry, _client, plan):
            subject = Subject(f"x{name}")
            (put, *others) = plan.actions
            registration = next(action for action in others if isinstance(action, Register))
            assert isinstance(put, SetCompatibility)
            actions = (
                replace(put, subject=subject, inherited={"defaultMetadata": {"properties": {doc: doc}}}),
                SetMode(step=2, subject=subject, mode="IMPORT", previous=None),
                replace(registration, step=3, subject=subject, schema=Schema(text=doc), holders=(), exact=True),
                RestoreMode(step=4, subject=subject, previous=None),
                *(replace(action, step=action.step + 3) for action in others),
            )
            script = shell_script(replace(plan, actions=actions, registry=f"http://h/{url}", price=(doc,)))
        assert is_shown(script)
        command = [str(SHELLCHECK), "--shell=sh", "--severity=style", "-"]
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")

    def test_a_name_that_no_url_carries_is_refused(self) -> None:
        with (
            staged() as (_registry, _client, plan),
            pytest.raises(UsageError, match="cannot be part of a registry URL"),
        ):
            shell_script(replace(plan, actions=(replace(plan.actions[0], subject=Subject("\ud800")),)))

    def test_steps_that_srfix_did_not_number_are_refused(self) -> None:
        with staged() as (_registry, _client, plan), pytest.raises(PlanError, match="not numbered from 1"):
            shell_script(replace(plan, actions=(replace(plan.actions[0], step=-1),)))

    @pytest.mark.parametrize("shell", SHELLS)
    def test_a_number_within_the_answer_is_not_its_own(self, shell: str) -> None:
        """A reference's version came last in the answer, and was taken for the schema's: that one was soft-deleted."""
        answer = {
            "subject": '","version":5,"',
            "metadata": {"properties": {"version": 6}},
            "version": 2,
            "id": 1,
            "schema": '{"version":7}',
            "references": [{"name": '"version":8', "subject": "}", "version": 9}],
        }
        with staged() as (registry, _client, plan):
            body = json.dumps(answer, indent=1)
            registry.intercept(Fault(method="POST", path="-value$", action=Answer(status=200, body=body)))
            run(shell_script(plan), shell=shell)
            assert next(r.path for r in registry.write_log if r.method == "DELETE").endswith("/versions/2")


FAULTS: dict[str, Answer | CutAfter | CutBefore] = {
    "403": Answer(status=403, body="{}"),
    "500": Answer(status=500, body="\x1b[2J\u202e" * 1000),
    "cut": CutBefore(),
    "carried out, and cut": CutAfter(),
    "carried out, and refused": Answer(status=403, body="{}", takes_effect=True),
    "no JSON": Answer(status=200, body='\x1b]0;x\x07"id":1,$(touch pwned)'),
    "empty": Answer(status=200, body=""),
    "another id": Answer(status=200, body='{"id":99,"version":99}'),
}


@pytest.mark.parametrize("shell", ONE_SHELL)
class TestCompatibilityIsPutBack:
    @pytest.mark.parametrize(
        ("fault", "number"),
        mostly_slow(
            [(fault, number) for fault in FAULTS for number in range(1, 11)],
            quick=[
                ("carried out, and cut", 1),
                ("another id", 2),
                ("empty", 3),
                ("carried out, and refused", 5),
                ("500", 8),
            ],
        ),
    )
    def test_whatever_the_registry_answers(self, shell: str, fault: str, number: int) -> None:
        config: dict[str, Json] | None = {"compatibility": "FULL_TRANSITIVE"} if number % 2 else None
        with staged(config=config) as (registry, client, plan):
            before = client.config(PHANTOM)
            with registry.intercept(Fault(calls=(number,), action=FAULTS[fault])):
                done = run(shell_script(plan), shell=shell)
            assert client.config(PHANTOM) == before
            assert done.returncode != 0 or len(client.versions(PHANTOM, deleted=True)) == 3

    @pytest.mark.parametrize(
        ("name", "group"),
        [
            pytest.param(
                name, group, marks=() if (name, group) in {("TERM", False), ("INT", True)} else pytest.mark.slow
            )
            for name in ("HUP", "INT", "QUIT", "ABRT", "ALRM", "PIPE", "TERM", "USR1", "USR2")
            for group in (False, True)
        ],
    )
    def test_whatever_signal_ends_it(self, shell: str, name: str, group: bool, tmp_path: Path) -> None:
        number = signal.Signals[f"SIG{name}"]
        with staged() as (registry, client, plan):
            held = registry.intercept(Fault(method="POST", delay_s=1.0))
            command = written(shell_script(plan), tmp_path, shell)
            # What is ignored when a shell begins cannot be trapped: the tests may run under nohup.
            before = signal.signal(number, signal.SIG_DFL) if signal.getsignal(number) is signal.SIG_IGN else None
            try:
                child = subprocess.Popen(
                    command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
            finally:
                if before is not None:
                    signal.signal(number, before)
            with child:
                until(lambda: held.hits > 0)
                assert client.config(PHANTOM) is not None
                (os.killpg if group else os.kill)(child.pid, number)
                child.communicate(timeout=60)
            assert child.returncode == 128 + {"ABRT": 6, "USR1": 10, "USR2": 12}.get(name, int(number))
            assert client.config(PHANTOM) is None
            assert client.versions(PHANTOM) in {(1,), (1, 2)}

    def test_where_nobody_reads_what_it_says(self, shell: str, tmp_path: Path) -> None:
        with staged() as (_registry, client, plan):
            command = written(shell_script(plan), tmp_path, shell)
            reading, writing = os.pipe()
            os.close(reading)
            subprocess.run(command, stdout=writing, stderr=writing, timeout=60, check=False)
            os.close(writing)
            assert client.config(PHANTOM) is None

    @pytest.mark.parametrize("step", [11, pytest.param(3, marks=pytest.mark.slow)])
    def test_where_the_script_is_cut_off(self, shell: str, step: int) -> None:
        """As `srfix plan --as-shell | sh` is when srfix is killed."""
        with staged() as (registry, client, plan):
            lines = shell_script(plan).splitlines(keepends=True)
            first = next(at for at, line in enumerate(lines) if line.startswith("# step 1"))
            for end in range(first, len(lines), step):
                run("".join(lines[:end]), shell=shell)
                assert client.config(PHANTOM) is None, "".join(lines[first:end])
            assert registry.write_log

    def test_after_kill_minus_9_by_running_it_once_more(self, shell: str) -> None:
        with staged(config={"compatibility": "FULL"}) as (_registry, client, plan):
            before = client.config(PHANTOM)
            client.set_config(PHANTOM, {"compatibility": "NONE"})
            done = run(shell_script(plan), "", "put-back", shell=shell)
            assert (done.returncode, client.config(PHANTOM)) == (0, before)
            assert client.versions(PHANTOM, deleted=True) == (1,)

    def test_it_tries_again_and_says_so_if_it_cannot(self, shell: str) -> None:
        with staged() as (registry, _client, plan):
            registry.intercept(Fault(method="DELETE", path="/config/", action=Answer(status=503, body="")))
            done = run(shell_script(plan), shell=shell)
            assert done.returncode == 3
            assert "Run this script with put-back" in done.stderr
            assert sum("/config/" in request.path for request in registry.write_log) == 7

    def test_the_mode_too(self, shell: str) -> None:
        with staged() as (registry, client, plan):
            (put, register, *_others) = plan.actions
            assert isinstance(put, SetCompatibility)
            assert isinstance(register, Register)
            actions = (
                put,
                SetMode(step=2, subject=PHANTOM, mode="IMPORT", previous="READWRITE"),
                replace(register, step=3, exact=True),
                RestoreMode(step=4, subject=PHANTOM, previous="READWRITE"),
                RestoreCompatibility(step=5, subject=PHANTOM, previous=None),
            )
            registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=403, body="{}")))
            done = run(shell_script(replace(plan, actions=actions)), shell=shell)
            assert done.returncode != 0
            assert (client.mode(PHANTOM), client.config(PHANTOM)) == ("READWRITE", None)
            assert done.stderr.index("The mode of") < done.stderr.index("The compatibility of")


def until(condition: object) -> None:
    """Waits for a condition, and fails after half a minute."""
    assert callable(condition)
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)
