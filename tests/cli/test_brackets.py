"""A password that stands in the brackets of an IPv6 address: it ends in no traceback, and is printed nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kept_demo import srfix

SECRET = "Sekret99"
IN_BRACKETS = (f"http://[me:{SECRET}]@127.0.0.1", f"PLAINTEXT://[me:{SECRET}]:9092", f"[u:{SECRET}]", f"[u:{SECRET}")


@pytest.mark.parametrize("address", IN_BRACKETS)
@pytest.mark.parametrize("option", ["--bootstrap-servers", "--registry", "--ksqldb", "variable", "file", "property"])
def test_it_is_refused_and_not_shown(address: str, option: str, tmp_path: Path) -> None:
    others = {
        "--bootstrap-servers": "127.0.0.1:1",
        "--registry": "http://127.0.0.1:1",
        "--ksqldb": "http://127.0.0.1:1",
    }
    env = {}
    if option == "variable":
        env = {"SRFIX_BOOTSTRAP_SERVERS": address, "SRFIX_REGISTRY": address}
    elif option == "file":
        (tmp_path / "c.toml").write_text(f'bootstrap-servers = "{address}"\nregistry = "{address}"\n')
        env = {"SRFIX_CONFIG": str(tmp_path / "c.toml")}
    elif option == "property":
        (tmp_path / "c.properties").write_text(f"bootstrap.servers={address}\nschema.registry.url={address}\n")
        env = {"SRFIX_KAFKA_CONFIG": str(tmp_path / "c.properties")}
    named = others | {option: address} if option.startswith("--") else {}
    done = srfix("diagnose", *(word for pair in named.items() for word in pair), env=env, cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert SECRET not in said
    assert "Traceback" not in said


def test_a_plan_that_names_one_is_refused_likewise(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"schema": "srfix.plan/1", "registry": IN_BRACKETS[0]}))
    for command in ("apply", "verify", "rollback"):
        done = srfix(command, "p.json", cwd=tmp_path)
        assert (done.returncode, SECRET in done.stdout + done.stderr) == (2, False), done.stderr
