"""`srfix watch` as its user runs it: the log, /metrics and /healthz, signals, and kill -9 while it writes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, Parts, environment, srfix, wait_for
from tests.documents import check


def where(parts: Parts, registry: FixtureRegistry) -> Mapping[str, str]:
    return {**parts.environment, "SRFIX_REGISTRY": registry.url}


@contextmanager
def watching(
    parts: Parts, registry: FixtureRegistry, directory: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A watch that goes on beside the test, and where it listens; killed at the end if it still runs."""
    command = [SRFIX, "watch", "--listen", "127.0.0.1:0", "--interval", "0.2", "--output", "json", *options]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env=environment(where(parts, registry)),
    ) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            found = re.search(r"http://\S+:\d+", first)
            assert found is not None, first
            yield process, found[0]
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, list[dict[str, Any]], str]:
    """Ends it; the exit code, what it told, and standard error."""
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    told = [json.loads(line) for line in out.splitlines()]
    for document in told:
        check(document)
    return process.returncode, told, err


def metric(url: str, line: str) -> float | None:
    text = requests.get(f"{url}/metrics", timeout=TIMEOUT_S).text
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return None if found is None else float(found[1])


def health(url: str) -> tuple[int, dict[str, Any]]:
    answer = requests.get(f"{url}/healthz", timeout=TIMEOUT_S)
    return answer.status_code, answer.json()


class TestOnce:
    def test_without_a_plan_it_is_a_diagnosis_in_a_line(self, parts: Parts) -> None:
        done = parts.srfix("watch", "--once")
        assert (done.returncode, done.stderr) == (1, "")
        (line,) = done.stdout.splitlines()
        assert re.match(
            r"\S+ A full diagnosis took \d+\.\d s: 1 finding \(SRF001 .*/KafkaTopic_Right-Reduce\), 1 store examined",
            line,
        )

    def test_with_a_plan_it_registers_and_says_how_to_undo_it(
        self, shared_parts: Parts, registry: FixtureRegistry, directory: Path
    ) -> None:
        before = registry.dump()
        done = srfix("watch", "--once", "--allow", "p.json", cwd=directory, env=where(shared_parts, registry))
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 3
        found = re.search(r"To undo this, use the journal (p\.json\.watch/\S+\.journal\.jsonl)\.\n", done.stdout)
        assert found is not None, done.stdout
        assert registry.dump() != before
        for line in (directory / found[1]).read_text().splitlines():
            check(json.loads(line))
        undone = srfix("rollback", found[1], "--yes", "--registry", registry.url, cwd=directory)
        assert undone.returncode == 0, undone.stderr
        assert registry.dump() == before

    @pytest.mark.slow
    def test_an_end_that_does_not_answer_is_2(self, parts: Parts) -> None:
        done = parts.srfix("watch", "--once", "--registry", "http://127.0.0.1:9")
        assert (done.returncode, done.stdout) == (2, "")


class TestRefused:
    def test_a_plan_that_is_not_the_one_that_was_signed_off(self, parts: Parts, directory: Path) -> None:
        done = parts.srfix("watch", "--once", "--allow", directory / "p.json", "--expect-digest", f"sha256:{'0' * 64}")
        assert (done.returncode, done.stdout) == (2, "")
        assert "is not the one that was reviewed" in done.stderr

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--listen", "here"), "Invalid value for '--listen': expected HOST:PORT or off, not 'here'."),
            (("--journals", "d"), "--journals, --expect-digest and --signature are for the plan of --allow"),
            (("--signature", "s", "--allow", "p"), "--signature and --signer-key belong together"),
        ],
    )
    def test_options_that_do_not_go_together(self, parts: Parts, options: tuple[str, ...], said: str) -> None:
        done = parts.srfix("watch", *options)
        assert done.returncode == 2
        assert said in done.stderr


class TestRunning:
    def test_it_tells_prometheus_and_ends_with_0_on_sigterm(
        self, shared_parts: Parts, registry: FixtureRegistry, directory: Path
    ) -> None:
        with watching(shared_parts, registry, directory) as (process, url):
            wait_for(lambda: health(url)[0] == 200)
            labels = (
                'application="_confluent-ksql-default_query_CSAS_J_0",code="SRF001",role="value",severity="broken",'
                'store="KafkaTopic_Right-Reduce"'
            )
            text = requests.get(f"{url}/metrics", timeout=TIMEOUT_S).text
            found = re.search(r"^srfix_findings\{(.*?)\} 1\.0$", text, re.MULTILINE)
            assert found is not None, text
            assert sorted(found[1].split(",")) == sorted(labels.split(","))
            assert metric(url, "srfix_ids_missing") == 2
            assert metric(url, 'srfix_up{end="kafka"}') == 1
            assert requests.get(f"{url}/other", timeout=TIMEOUT_S).status_code == 404
            assert requests.post(f"{url}/metrics", timeout=TIMEOUT_S).status_code == 405
            code, told, err = ended(process, signal.SIGTERM)
        assert code == 0
        assert err == "A signal ended srfix watch. It does nothing more.\n"
        assert [each["what"] for each in told] == ["look"]
        assert told[0]["findings"][0]["schema_ids"] == [1, 2]

    @pytest.mark.slow
    def test_an_interrupt_ends_it_with_130(
        self, shared_parts: Parts, registry: FixtureRegistry, directory: Path
    ) -> None:
        with watching(shared_parts, registry, directory) as (process, url):
            wait_for(lambda: health(url)[0] == 200)
            assert ended(process, signal.SIGINT)[0] == 130

    @pytest.mark.slow
    def test_a_registry_that_is_away_makes_it_unhealthy(
        self, shared_parts: Parts, registry: FixtureRegistry, directory: Path
    ) -> None:
        with watching(shared_parts, registry, directory, "-R", "max.retries=0") as (_process, url):
            with registry.intercept(Fault(action=CutBefore())):
                wait_for(lambda: health(url)[0] == 503 and health(url)[1]["reason"] == "no answer from: registry")
                assert metric(url, 'srfix_up{end="registry"}') == 0
            wait_for(lambda: health(url)[0] == 200)

    @pytest.mark.slow
    def test_a_port_that_is_taken_is_said(self, parts: Parts) -> None:
        port = parts.registry.url.rpartition(":")[2]
        done = parts.srfix("watch", "--listen", f"127.0.0.1:{port}")
        assert done.returncode == 2
        assert f"srfix cannot listen on 127.0.0.1:{port} (--listen)" in done.stderr
        done = parts.srfix("watch", "--listen", "[me:topsecret]:1")
        assert (done.returncode, "topsecret" in done.stderr) == (2, False)


@pytest.mark.slow
class TestSignalWhileItWrites:
    def test_what_it_relaxed_is_put_back_before_it_ends(
        self, shared_parts: Parts, registry: FixtureRegistry, directory: Path
    ) -> None:
        fault = Fault(method="POST", path="/versions$", calls=(1,), delay_s=1.0)
        with (
            registry.intercept(fault) as met,
            watching(shared_parts, registry, directory, "--allow", "p.json") as (process, _url),
        ):
            wait_for(lambda: met.hits == 1)
            code, told, err = ended(process, signal.SIGTERM)
        assert (code, [each["what"] for each in told]) == (0, ["look", "registered"])
        assert err.endswith("It does nothing more. The journals name the steps that it had begun.\n")
        subjects: Any = registry.dump()["subjects"]
        assert [version["deleted"] for version in subjects[shared_parts.staged.phantom_subject]] == [False, True, True]
        assert (
            requests.get(f"{registry.url}/config/{shared_parts.staged.phantom_subject}", timeout=TIMEOUT_S).status_code
            == 404
        )
