"""Files that are no files, secrets in every wrong form, and ends at any moment. Kind 10 of issue 13."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kept_demo import SRFIX, Parts, environment, staged_parts
from tests.hostile.attack import attack, judge
from tests.hostile.evil import answer, serving
from tests.hostile.worlds import tree
from tests.telling import slow_but

MB = 1 << 20
FIRST, SECOND = "Xa7Qk9Zb8W", "Vt5Rn2Lc6Y"
"""Two halves of a secret: neither may be shown."""


@pytest.fixture(scope="module")
def staged() -> Iterator[Parts]:
    with staged_parts() as parts:
        yield parts


CONTENTS: dict[str, bytes] = {
    "nothing": b"",
    "NULs": bytes(100_000),
    "BOM": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "half surrogates": b'{"a": "\\ud800"}',
    "deep": b"[" * 100_000,
    "deep TOML": b"a = " + b"[" * 100_000,
    "deep TOML tables": b"[" + b"a." * 50_000 + b"a]\n",
    "a long number in TOML": b"deadline = " + b"9" * 300_000 + b"\n",
    "nan in TOML": b"deadline = nan\nmax-records = 1\n",
    "wrong types in TOML": b"registry = [[[5]]]\napplication = {a = 1}\nsource = 1979-05-27T07:32:00Z\n",
    "escapes in TOML": b'application = "\\u001b[2J"\nregistry = "\\u009b2J"\n',
    "an unknown key with escapes": b'"\\u001b]0;x\\u0007" = 1\n',
    "one long line": b"x" * 5_000_000,
    "a million lines": b"a=b\n" * 300_000,
    "many tasks": b"Topologies:\n" + b"   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [a])\n      --> none\n" * 20_000,
    "unclosed brackets": b"Topologies:\n   Sub-topology: 0\n    Source: x (topics: [" + b"[" * 200_000,
    "continued lines": b"a=\\\n" * 200_000,
    "a trace": b"Caused by: org.apache.kafka.common.errors.SerializationException: " + b"Error retrieving Avro value schema version for id " * 50_000,
    "a trace of dots": b"org.apache." * 200_000 + b"SerializationException",
}  # fmt: skip


READERS: dict[str, tuple[str, ...]] = {
    "--config": ("diagnose", "--config"),
    "--kafka-config": ("diagnose", "--kafka-config"),
    "--topology": ("diagnose", "--topology"),
    "--ksqldb-text": ("diagnose", "--ksqldb-text"),
    "--state-dir": ("diagnose", "--state-dir"),
    "apply": ("apply", "--yes"),
    "verify": ("verify",),
    "rollback": ("rollback", "--yes"),
    "explain": ("explain",),
    "--schema": ("decode", "--payload", "hex:00", "--schema"),
    "encode --schema": ("encode", "{}", "--schema"),
}


def reading(option: str, path: str | Path) -> tuple[str, ...]:
    name = os.fspath(path)
    return (*READERS[option], f"@{name}" if option.endswith("schema") else name)


KINDS = [
    *("checkpoint", "metadata", "deep metadata", "fifo", "loop"),
    *("many", "CURRENT", "names", "link out", "sparse"),
]


class TestFiles:
    @pytest.mark.parametrize("content", slow_but(CONTENTS, "deep", "escapes in TOML", "half surrogates"))
    def test_whatever_a_file_holds_it_ends_in_a_report_or_a_sentence(self, content: str, staged: Parts, tmp_path: Path) -> None:  # fmt: skip
        path, wrong = tmp_path / "f", []
        path.write_bytes(CONTENTS[content])
        for option in READERS:
            done = attack(*reading(option, path), env=staged.environment)
            try:
                judge(done, peak=600 * MB, most=12_000_000)
                assert len(done.err) < 30_000, f"{len(done.err)} bytes on stderr"
            except AssertionError as error:
                wrong.append(f"{option}: {str(error)[-600:]}")
        assert not wrong, "\n\n".join(wrong)
        assert staged.registry.writes == 0

    @pytest.mark.parametrize("kind", slow_but(KINDS, "CURRENT"))
    def test_a_state_directory_of_somebody_else(self, kind: str, staged: Parts, tmp_path: Path) -> None:
        task = tmp_path / "state" / staged.staged.application / "0_0"
        database = task / "rocksdb" / staged.staged.store
        database.mkdir(parents=True)
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "CURRENT").write_text("MANIFEST-000001\n")
        checkpoint, metadata = task / ".checkpoint", task.parent / "kafka-streams-process-metadata"
        match kind:
            case "checkpoint":
                checkpoint.write_bytes(b"0\n" + b"9" * 300_000 + b"\n" + b"users 0 " + b"9" * 300_000 + b"\n")
            case "metadata":
                metadata.write_bytes(b'{"processId": "\\ud800\\u001b[2J", "version": 1e400}')
            case "deep metadata":
                metadata.write_bytes(b"[" * 200_000)
                checkpoint.write_bytes(b"\xff\xfe" * 1000)
            case "fifo":
                for path in (checkpoint, metadata, database / "CURRENT"):
                    os.mkfifo(path)
            case "loop":
                (database / "again").symlink_to(tmp_path / "state")
                (task.parent / "1_0").symlink_to(task.parent)
            case "many":
                for number in range(3_000):
                    (task.parent / f"{number}_0").mkdir(exist_ok=True)
            case "CURRENT":
                (database / "CURRENT").write_text("../../../../../../etc/passwd\n")
            case "names":
                for name in ("\x1b[2J", "a\nb", "\u202e", "`id`", "--yes", "x" * 250, "\udcff"):
                    (task / "rocksdb" / name).mkdir()
                    (task.parent.parent / name).mkdir()
                    (task.parent.parent / name / "0_0").mkdir()
            case "link out":
                shutil.rmtree(database)
                database.symlink_to(outside)
            case "sparse":
                for path in (checkpoint, database / "CURRENT"):
                    with path.open("wb") as file:
                        file.truncate(3 << 30)
        # Hashing three gigabytes of nothing says nothing.
        before = tree(tmp_path) if kind != "sparse" else {}
        (views := tmp_path.parent / f"{tmp_path.name}-views").mkdir()
        env = {**staged.environment, "TMPDIR": str(views), "XDG_CACHE_HOME": str(views)}
        for output in ("json", "table", "markdown"):
            done = attack("diagnose", "--state-dir", tmp_path / "state", "--output", output, env=env)
            judge(done, peak=600 * MB)
            if output == "json" and done.out:
                assert json.loads(done.out)
        assert "root:x" not in done.stdout
        assert kind == "sparse" or tree(tmp_path) == before
        assert list(views.iterdir()) == []


class TestSecrets:
    @pytest.mark.parametrize("shape", ["{}", "Basic {}", "{}\n", "x{}y", "{0} {0} {0}"])
    def test_that_a_server_sends_back(self, shape: str, staged: Parts) -> None:
        """The registry repeats what it was told, in the forms that it has been told it in."""
        import base64
        from urllib.parse import quote

        secret = f"{FIRST}/{SECOND} @"
        forms = (secret, quote(secret, safe=""), base64.b64encode(f"ada:{secret}".encode()).decode())
        for form in forms:
            body = json.dumps({"error_code": 40301, "message": shape.format(form)}).encode()
            with serving(answer(body, b"X-Told: " + form.encode(), status=b"403 Forbidden")) as server:
                given = ("--registry", server.url, "-R", f"basic.auth.user.info=ada:{secret}")
                judge(attack("diagnose", *given, env=staged.environment), secrets=(FIRST, SECOND, forms[2]))


@pytest.mark.slow
class TestEnds:
    def test_views_of_state_directories_are_gone_after_the_next_start(self, staged: Parts, tmp_path: Path) -> None:
        real = Path(__file__).parents[1] / "recovery/state/data/4.3.1"
        state, views = tmp_path / "state", tmp_path / "views"
        shutil.copytree(real, state)
        views.mkdir()
        # Many stores: the moments at which a view is there are most of the run.
        [application] = [path for path in state.iterdir() if path.is_dir()][:1]
        for number in range(2, 30):
            shutil.copytree(application / "1_0", application / f"{number}_0", dirs_exist_ok=True)
        before = tree(state)
        env = environment({**staged.environment, "TMPDIR": str(views)})
        arguments = [SRFIX, "diagnose", "--state-dir", str(state)]
        started = time.monotonic()
        subprocess.run(arguments, env=env, capture_output=True, timeout=120, check=False)
        whole_s = time.monotonic() - started
        assert list(views.iterdir()) == []
        chance, left = random.Random(13), 0
        for _ in range(12):
            with subprocess.Popen(arguments, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(whole_s * (0.3 + 0.7 * chance.random()))
                process.send_signal(signal.SIGKILL)
            left = max(left, len(list(views.iterdir())))
        foreign = views / "not-ours"
        foreign.mkdir()
        (foreign / "CURRENT").write_text("precious")
        (views / "srfix-notes.txt").write_text("precious")
        done = judge(attack("diagnose", "--state-dir", state, env={**staged.environment, "TMPDIR": str(views)}))
        assert done.returncode in (1, 2)
        remaining = {path.name for path in views.iterdir()}
        assert remaining == {"not-ours", "srfix-notes.txt"}, f"{left} were left by the kills"
        assert (foreign / "CURRENT").read_text() == "precious"
        assert tree(state) == before

    def test_compatibility_of_wide_schemas_is_not_quadratic(self, tmp_path: Path) -> None:
        """A phantom and a source of unions with thousands of branches, and records of thousands of fields."""
        from tests.hostile.worlds import INTERNAL, world

        def wide(kind: str, number: int, of: int) -> str:
            branches = [{"type": "fixed", "name": f"{kind}{number}x{i}", "size": 1} for i in range(of)]
            fields = [{"name": "u", "type": ["null", *branches]}]
            fields += [{"name": f"f{i}", "type": "string", "default": ""} for i in range(of)]
            return json.dumps({"type": "record", "name": "R", "fields": fields})

        with world() as made:
            made.topic("wide", [b"\x00\x00\x00\x00\x01\x00"])
            for version in range(3):
                made.registry.seed("wide-value", wide("A", version, 1_000))
            made.registry.seed("shop-store-changelog-value", INTERNAL)
            made.registry.seed("shop-store-changelog-value", wide("B", 1, 1_000))
            for arguments in (("diagnose",), ("plan", "-o", tmp_path / "p.json"), ("plan", "--all-versions")):
                judge(made.attack(*arguments, "--source", "shop/store=wide"), most=20 * MB)
            (tmp_path / "s.json").write_text(wide("C", 1, 3_000))
            done = made.attack("encode", "--schema", f"@{tmp_path / 's.json'}", '{"u": null}')
            judge(done, codes=(0, 1, 2), most=20 * MB)
            columns = ", ".join(f"C{i} INT" for i in range(2_000))
            judge(made.attack("schema", columns, "--subject", "wide-value"), most=20 * MB)
