"""Every command that a report prints runs as it is printed, with the options that were given."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from parts.damage import shop
from srfix.cli.command_classes import loaded
from srfix.cli.command_line import cli
from srfix.cli.command_table import COMMANDS, EXAMPLES, every_command
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.commands import KNOWN_OPTIONS, in_pieces
from srfix.recovery.explain.catalogue import CATALOGUE
from tests.cli.damaged_stores import world_of
from tests.cli.kept_demo import srfix
from tests.telling import slow_but

NOT_REPEATED = frozenset(
    {
        "--output",
        "--details",
        "--metrics",
        "--quiet",
        "--fail-on",
        "--baseline",
        "--write-baseline",
        "--out",
        "--as-shell",
        "--detailed-exitcode",
        "--yes",
        "--help",
        "--journal",
        "--probe-permissions",
    }
)
"""Options of the commands on the way of a repair that say nothing to the next one: how a report is written, and where."""
SECRET = "hunter22hunter22"
"""Given as a literal password; nothing may show it."""
NAMES = ("shop", "a shop's `own`", 'the "shop"')
"""Applications; of hostile ones the commands must be quoted."""
_BARE = re.compile(rf"\bsrfix (?:{'|'.join(COMMANDS)}) (?:-|[A-Z]{{3,}}\b|\S+\.json)")
"""A command with arguments, in running text: its place is between backquotes."""


@dataclass(frozen=True)
class World:
    """See `world_of`; and files in a folder whose name must be quoted."""

    broker: EmbeddedBroker
    registry: FixtureRegistry
    folder: Path

    @property
    def where(self) -> tuple[str, ...]:
        return ("--bootstrap-servers", self.broker.bootstrap_servers, "--registry", self.registry.url)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("a folder") / "with 'quotes' in it"
    folder.mkdir()
    (folder / "top ology.txt").write_text(shop.table_topology("users-store"))
    (folder / "client.properties").write_text("client.id=me\n")
    (folder / "srfix.toml").write_text('reader = "unknown"\n')
    with world_of(*NAMES, bad=[b"{}"]) as (broker, registry):
        yield World(broker=broker, registry=registry, folder=folder)


def printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The commands that a run printed, from standard output and error, whatever the format."""
    assert done.returncode in {0, 1, 2, 3}, done.stderr
    texts = [done.stdout, done.stderr]
    if done.stdout.startswith("{"):
        texts[0] = "\n".join(strings(json.loads(done.stdout)))
    found: list[str] = []
    for text in texts:
        for line in text.splitlines():
            words = line.split(maxsplit=2)
            if words[:1] == ["srfix"] and words[1:2] and words[1] in COMMANDS and text is texts[0]:
                found.append(line.strip())
                continue
            for piece, is_command in in_pieces(line):
                if is_command:
                    found.append(piece)
                else:
                    assert not _BARE.search(piece), piece
    # The serde's messages name a command; they know no cluster.
    return [command for command in dict.fromkeys(found) if command not in {"srfix", "srfix diagnose"}]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in strings(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in strings(each))


def parsed(command: str, folder: Path = Path()) -> click.Context:
    """What the real parser makes of a command, without running it."""
    program, name, *arguments = shlex.split(command)
    assert program == "srfix"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        known = cli.get_command(click.Context(cli), name)
        assert known is not None, command
        return known.make_context(name, arguments, parent=click.Context(cli, **cli.context_settings))


def of(name: str, commands: Sequence[str]) -> list[str]:
    return [command for command in commands if shlex.split(command)[1] == name]


class TestEveryReport:
    @pytest.mark.parametrize("output", slow_but(["table", "markdown", "json"], "table"))
    @pytest.mark.parametrize(
        "arguments",
        slow_but(
            [
                ("diagnose",),
                ("diagnose", "--source", "shop/users-store=users", "--reader", "connect", "--streams-version", "2.6.3"),
                ("diagnose", "--source", "deskshop/store=users", "--streams-version", "2.7"),
                ("diagnose", "--max-records", "1", "--deadline", "60.5"),
                ("diagnose", "--application", NAMES[1]),
                ("diagnose", "--reader", "plain"),
                ("plan",),
                ("plan", "--keep", "live"),
                ("plan", "--keep", "live", "--only-live", "--application", "shop", "-o", "it's a plan.json"),
                ("subjects",),
                ("subjects", "--application", NAMES[2]),
                ("scan", "bad"),
                ("check", "bad"),
                ("check", "users", "--strategy", "topic-record"),
                ("check", "users", "--reader", "connect", "--subject", "x-value", "--role", "value"),
                ("plan", "--topic", "users", "--subject", "x-value", "-o", "a topic's plan.json"),
                ("doctor",),
                ("verify", "it's a plan.json"),
                ("explain",),
                *(("explain", known.code) for known in CATALOGUE),
            ],
            ("diagnose", "--max-records", "1", "--deadline", "60.5"),
            ("plan", "--keep", "live"),
            ("plan", "--keep", "live", "--only-live", "--application", "shop", "-o", "it's a plan.json"),
            ("subjects", "--application", NAMES[2]),
            ("scan", "bad"),
            ("plan", "--topic", "users", "--subject", "x-value", "-o", "a topic's plan.json"),
            ("verify", "it's a plan.json"),
            ("explain", "SRF001"),
        ),
        ids=" ".join,
    )
    def test_the_parser_takes_each_of_its_commands(self, world: World, arguments: tuple[str, ...], output: str) -> None:
        if arguments[0] == "verify":
            srfix("plan", "-o", arguments[1], "--application", "shop", *world.where, cwd=world.folder)
        where = () if arguments[0] == "explain" else world.where
        done = srfix(*arguments, *where, "--output", output, cwd=world.folder)
        commands = printed(done)
        for command in commands:
            context = parsed(command, world.folder)
            if context.info_name != "explain":
                assert context.params["registry"] == world.registry.url, command
                assert context.params["bootstrap_servers"] == world.broker.bootstrap_servers, command
        if arguments[0] in {"diagnose", "plan", "subjects"} and "--topic" not in arguments:
            assert commands, done.stdout

    def test_what_a_pasted_trace_leads_to(self, tmp_path: Path) -> None:
        message = "Error retrieving Avro value schema version for id 3; error code: 40403"
        [command] = [c for c in printed(srfix("explain", message)) if "explain" not in c]
        assert parsed(command, tmp_path).params["reader"] == "connect"

    def test_hostile_names_stay_one_argument(self, world: World) -> None:
        plans = of("plan", printed(srfix("diagnose", *world.where, "--output", "json", cwd=world.folder)))
        assert {parsed(plan, world.folder).params["application"] for plan in plans} >= set(NAMES)


class TestWhereItIs:
    """A page is read elsewhere: what the environment says here is not said there."""

    @pytest.mark.parametrize(("output", "is_mailed"), [("table", False), ("markdown", True)])
    def test_a_page_names_the_cluster_and_the_registry(self, world: World, output: str, is_mailed: bool) -> None:
        env = {"SRFIX_BOOTSTRAP_SERVERS": world.broker.bootstrap_servers, "SRFIX_REGISTRY": world.registry.url}
        done = srfix("diagnose", "--application", "shop", "--output", output, cwd=world.folder, env=env)
        (plan,) = {
            parsed(command, world.folder).command_path: command for command in of("plan", printed(done))
        }.values()
        assert (
            f"--bootstrap-servers {world.broker.bootstrap_servers} --registry {world.registry.url}" in plan
        ) is is_mailed

    def test_a_password_in_an_address_is_not_repeated(self, world: World) -> None:
        url = world.registry.url.replace("http://", f"http://me:{SECRET}@")
        env = {"SRFIX_BOOTSTRAP_SERVERS": world.broker.bootstrap_servers, "SRFIX_REGISTRY": url}
        done = srfix("diagnose", "--application", "shop", "--output", "markdown", cwd=world.folder, env=env)
        assert SECRET not in done.stdout + done.stderr
        assert "give --registry again" in done.stdout


class TestWhatWasGiven:
    @pytest.fixture
    def commands(self, world: World) -> list[str]:
        done = srfix(
            *("diagnose", *world.where, "--application", "shop", "--topology", "top ology.txt"),
            *("--source", "users-store=users", "--reader", "connect", "--streams-version", "2.6.3"),
            *("-X", "client.id=it's me", "-X", f"sasl.password={SECRET}", "--kafka-config", "client.properties"),
            *("-R", f"basic.auth.user.info=me:{SECRET}", "-R", "max.retries=2", "--config", "srfix.toml"),
            *("--engine", "local", "--deadline", "60", "--ignore", "gone*", "--output", "json"),
            cwd=world.folder,
        )
        assert done.returncode == 1, done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert "(give -X sasl.password=…, -R basic.auth.user.info=… again: srfix prints no secret)" in "\n".join(
            strings(json.loads(done.stdout))
        )
        return printed(done)

    def test_the_plan_repeats_all_of_it(self, commands: list[str], world: World) -> None:
        assert of("plan", commands)
        for command in of("plan", commands):
            given = parsed(command, world.folder).params
            assert given["source"] == ("users-store=users",)
            assert (given["application"], given["reader"], given["streams_version"]) == ("shop", "connect", "2.6.3")
            assert given["topology"] == ("top ology.txt",)
            assert given["kafka_properties"] == ("client.id=it's me",)
            assert given["registry_properties"] == ("max.retries=2",)
            assert (given["kafka_config"], given["deadline"], given["ignore"]) == (
                "client.properties",
                60.0,
                ("gone*",),
            )
            assert "--config srfix.toml" in command
            assert "--engine local" in command

    def test_the_others_repeat_what_they_know(self, commands: list[str], world: World) -> None:
        for name, option, absent in (("apply", "registry", "--source"), ("verify", "topology", "--deadline")):
            assert of(name, commands)
            for command in of(name, commands):
                assert parsed(command, world.folder).params[option]
                assert absent not in command

    def test_a_reference_to_a_secret_is_repeated_as_it_is(self, world: World) -> None:
        user = "basic.auth.user.info=me:env:SRFIX_TEST_PASSWORD"
        done = srfix(
            *("diagnose", *world.where, "-R", user, "--output", "json"),
            env={"SRFIX_TEST_PASSWORD": SECRET},
            cwd=world.folder,
        )
        plan = of("plan", printed(done))[0]
        assert parsed(plan, world.folder).params["registry_properties"] == (user,)
        assert SECRET not in done.stdout + done.stderr

    def test_what_environment_and_file_gave_is_not_repeated(self, world: World) -> None:
        servers, registry = world.broker.bootstrap_servers, world.registry.url
        (world.folder / "all.toml").write_text(f'registry = "{registry}"\nignore = ["gone*"]\n')
        variables = {"SRFIX_BOOTSTRAP_SERVERS": servers, "SRFIX_CONFIG": "all.toml", "SRFIX_READER": "connect"}
        done = srfix("diagnose", "--output", "json", env=variables, cwd=world.folder)
        plan = of("plan", printed(done))[0]
        assert not {"--registry", "--bootstrap-servers", "--config", "--reader", "--ignore"} & set(shlex.split(plan))
        assert json.loads(done.stdout)["ignored"][0]["pattern"] == "gone*"

    @pytest.mark.parametrize("url", ["http://me:{}@HOST", "http://{}@HOST"])
    def test_credentials_in_a_url_are_a_secret_too(self, world: World, url: str) -> None:
        registry = world.registry.url.replace("http://", url.format(SECRET).replace("HOST", ""))
        servers = ("--bootstrap-servers", world.broker.bootstrap_servers)
        done = srfix("diagnose", *servers, "--registry", registry, cwd=world.folder)
        assert "--registry" not in shlex.split(of("plan", printed(done))[0])
        assert "Give --registry again: srfix prints no secret." in done.stdout
        assert SECRET not in done.stdout + done.stderr


class TestTheTables:
    @pytest.mark.parametrize("name", sorted(KNOWN_OPTIONS))
    def test_each_command_knows_what_is_repeated_to_it(self, name: str) -> None:
        known = cli.get_command(click.Context(cli), name)
        assert known is not None
        options = {opt for param in known.params if isinstance(param, click.Option) for opt in param.opts}
        assert options >= KNOWN_OPTIONS[name]

    @pytest.mark.parametrize("name", ["diagnose", "plan", "apply", "verify", "rollback"])
    def test_each_option_on_the_way_of_a_repair_is_repeated_or_left_out_by_name(self, name: str) -> None:
        """A new option must not be forgotten."""
        known = cli.get_command(click.Context(cli), name)
        assert known is not None
        limits = {"--deadline", "--max-records"}
        for param in known.params:
            if isinstance(param, click.Option):
                assert set(param.opts) & (KNOWN_OPTIONS[name] | NOT_REPEATED | limits), param.opts


@pytest.mark.parametrize(("name", "example"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_the_parser_takes_each_example_and_the_help_shows_it(name: str, example: str, tmp_path: Path) -> None:
    program, *words = shlex.split(example)
    assert (program, " ".join(words)[: len(name)]) == ("srfix", name)
    for file in ("plan.json", "topology.txt"):
        (tmp_path / file).write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        command = loaded(every_command()[name])
        parent = click.Context(cli, info_name="srfix", **cli.context_settings)
        context = command.make_context(name, words[len(name.split()) :], parent=parent)
    assert f"\nExample:\n  {example}\n" in command.get_help(context)


def test_every_command_has_an_example() -> None:
    assert EXAMPLES.keys() == {name for name, entry in every_command().items() if not entry.commands}
