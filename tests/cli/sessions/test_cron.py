"""Cron: no terminal anywhere, a small environment, files for options; what matters is the exit code and what is mailed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kept_demo import KeptDemo, kept_demo
from tests.cli.sessions.session import Session
from tests.pages import block_that_begins

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDemo]:
    with kept_demo(tmp_path_factory.mktemp("demo")) as made:
        yield made


@pytest.fixture
def session(demo: KeptDemo, tmp_path: Path) -> Session:
    return Session(directory=tmp_path, settings={**demo.environment, "LC_ALL": "C", "TERM": ""})


def config_of_the_site(demo: KeptDemo) -> str:
    """The site's own file, at the demo's addresses, and without the login that the demo does not ask for."""
    text = block_that_begins('bootstrap-servers = "broker:9092"')
    text = text.replace('"broker:9092"', f'"{demo.ready["bootstrap_servers"]}"')
    text = re.sub(r"^registry = .*$", f'registry = ["{demo.ready["registry"]}"]', text, flags=re.MULTILINE)
    return re.sub(r'^"(security|sasl)\..*\n', "", text, flags=re.MULTILINE)


class TestFilesForOptions:
    def test_the_configuration_of_the_site(self, demo: KeptDemo, session: Session) -> None:
        login = session.directory / "login"
        login.write_text("me:secret")
        text = config_of_the_site(demo).replace("/run/secrets/registry", str(login))
        (session.directory / "srfix.toml").write_text(text)
        run = "srfix diagnose --config srfix.toml"
        session.runs(run, settings={}, code=2, says=("srfix-known.json", "--write-baseline"))
        session.runs(f"{run} --write-baseline srfix-known.json", settings={}, says=("1 known",))
        again = session.runs(run, settings={}, never=("SRF001", "secret"))
        assert again.out == ""
