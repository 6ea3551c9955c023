"""The options by which a person hands over what they have: state directories, topologies, ksqlDB.

@click.command()
@evidence_options              # hands over `evidence: EvidenceOptions`
def diagnose(evidence): …
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from srfix.cli.lines import Lines
from srfix.cli.properties import parse_property
from srfix.cli.redaction import Redactor
from srfix.serde import bounds
from srfix.serde.errors import KsqldbError, UsageError
from srfix.serde.files import read_file

if TYPE_CHECKING:
    from srfix.recovery.ksqldb import KsqldbAnswers
    from srfix.recovery.supplied import GivenTopology, Supplied

__all__ = ["EvidenceOptions", "evidence_options"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions:
    """Where to look, besides cluster and registry."""

    state_dirs: tuple[str, ...] = ()
    """State directories, or applications' folders in them."""
    topologies: tuple[str, ...] = ()
    """Files with printed topologies."""
    ksqldb: tuple[str, ...] = field(default=(), repr=False)
    """URLs of ksqlDB servers; they may hold credentials."""
    ksqldb_user: str | None = field(default=None, repr=False)
    """USER:PASSWORD for ksqlDB, where PASSWORD or the whole may be `env:NAME` or `file:PATH`."""
    ksqldb_config: tuple[str, ...] = ()
    """What ksqlDB's client is told, each `key=value`."""
    ksqldb_texts: tuple[str, ...] = ()
    """Files with saved answers of ksqlDB."""

    def read(self, *, application: str | None) -> Supplied:
        """Reads all of it; a ksqlDB that does not answer is a problem in it, not an error.

        :param application: the application that was named: whose the topologies are.
        :raises UsageError: if a path or URL makes no sense.
        :raises TopologyError: if a file holds no printed topology.
        :raises KsqldbError: if a file holds no answer of ksqlDB.
        :raises SecretError: if the password for ksqlDB cannot be read.
        """
        from srfix.recovery.ksqldb import parse_saved_answers
        from srfix.recovery.state.reading import read_state_directory
        from srfix.recovery.supplied import Supplied

        return Supplied(
            state=tuple(found for path in self.state_dirs for found in read_state_directory(Path(path))),
            topologies=tuple(found for path in self.topologies for found in _topologies(path, application)),
            ksqldb=(
                *map(self._ask, self.ksqldb),
                *(parse_saved_answers(_content(path, "--ksqldb-text"), origin=path) for path in self.ksqldb_texts),
            ),
        )

    def _ask(self, url: str) -> KsqldbAnswers:
        from srfix.recovery.ksqldb import KsqldbAnswers, KsqldbClient, ksqldb_bounds
        from srfix.serde.registry import BasicAuth, Secret

        bounds = ksqldb_bounds(dict(parse_property(text, option="--ksqldb-config") for text in self.ksqldb_config))
        user = None if self.ksqldb_user is None else _whole(self.ksqldb_user, Secret.parse)
        with KsqldbClient(url, auth=None if user is None else BasicAuth.parse(user), bounds=bounds) as client:
            try:
                return client.survey()
            except KsqldbError as error:  # an incident is no time to insist on every witness
                return KsqldbAnswers(origin=client.url, problems=(error.message,))


def evidence_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options; the command gets `evidence: EvidenceOptions`."""

    @functools.wraps(command)
    def call(**values: Any) -> R:
        evidence = EvidenceOptions(
            state_dirs=tuple(values.pop("state_dir")),
            topologies=tuple(values.pop("topology")),
            ksqldb=tuple(values.pop("ksqldb")),
            ksqldb_user=values.pop("ksqldb_user"),
            ksqldb_config=tuple(values.pop("ksqldb_config")),
            ksqldb_texts=tuple(values.pop("ksqldb_text")),
        )
        redactor = click.get_current_context().find_object(Redactor)
        if redactor is not None:
            redactor.note_properties(evidence.ksqldb)
            if evidence.ksqldb_user is not None:
                redactor.note(evidence.ksqldb_user)
        return command(evidence=evidence, **values)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def _repeatable(
    name: str, *, envvar: str, metavar: str, help_: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        name,
        envvar=f"SRFIX_{envvar}",
        show_envvar=True,
        type=Lines("text"),
        multiple=True,
        metavar=metavar,
        help=help_,
    )


_OPTIONS: Final = (
    _repeatable(
        "--state-dir",
        envvar="STATE_DIR",
        metavar="DIR",
        help_="The application's state.dir, or its folder in it; a copy will do. Repeatable. Nothing in it is written.",
    ),
    _repeatable("--topology", envvar="TOPOLOGY", metavar="FILE", help_="What Topology.describe() printed; repeatable."),
    _repeatable(
        "--ksqldb",
        envvar="KSQLDB",
        metavar="URL",
        help_="A ksqlDB server to ask about its queries; repeatable. Reads only.",
    ),
    click.option(
        "--ksqldb-user",
        envvar="SRFIX_KSQLDB_USER",
        show_envvar=True,
        metavar="USER:PASSWORD",
        help="For ksqlDB; PASSWORD, or the whole, may be env:NAME or file:PATH.",
    ),
    _repeatable(
        "--ksqldb-config",
        envvar="KSQLDB_CONFIG",
        metavar="KEY=VALUE",
        help_="How much an answer of ksqlDB may take, and how long: http.answer.max.bytes, http.answer.deadline.ms, …; "
        "repeatable.",
    ),
    _repeatable(
        "--ksqldb-text",
        envvar="KSQLDB_TEXT",
        metavar="FILE",
        help_="What SHOW QUERIES EXTENDED, EXPLAIN and DESCRIBE … EXTENDED answered, as JSON or as text; repeatable.",
    ),
)


def _whole(text: str, parse: Callable[[str], Any]) -> str:
    """USER:PASSWORD, out of its place if the whole is a reference."""
    return str(parse(text).reveal()) if text.startswith(("env:", "file:")) else text


def _topologies(path: str, application: str | None) -> tuple[GivenTopology, ...]:
    from srfix.recovery.supplied import GivenTopology
    from srfix.recovery.topology import parse_topologies

    found = parse_topologies(_content(path, "--topology"), origin=path)
    return tuple(GivenTopology(topology=topology, origin=path, application=application) for topology in found)


def _content(path: str, option: str) -> str:
    try:
        content = read_file(path, most_bytes=bounds.MOST_EVIDENCE_BYTES)
    except OSError as error:
        raise UsageError(f"The file {path!r} of {option} cannot be read: {error.strerror}.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"The file {path!r} of {option} is not UTF-8 text; save it as UTF-8.") from None
