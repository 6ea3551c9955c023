"""The options for a person's evidence: state directories, topologies, ksqlDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from srfix.cli.options.values import file_text, handing_over, option, parse_property, repeatable
from srfix.cli.redaction import Redactor
from srfix.recovery.errors import KsqldbError

if TYPE_CHECKING:
    from srfix.recovery.facts.supplied import Supplied
    from srfix.recovery.ksqldb.client import KsqldbClient
    from srfix.recovery.ksqldb.models import KsqldbAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class KsqldbServers:
    """ksqlDB servers to ask. Its repr shows no secret."""

    ksqldb: tuple[str, ...] = field(default=(), repr=False)
    """Their URLs; they may hold credentials."""
    ksqldb_user: str | None = field(default=None, repr=False)
    """USER:PASSWORD. PASSWORD, or the whole value, may be `env:NAME` or `file:PATH`."""
    ksqldb_config: tuple[str, ...] = ()

    def noted(self) -> Self:
        """These servers, after the secrets have been noted so that srfix never shows them."""
        redactor = click.get_current_context().find_object(Redactor)
        if redactor is not None:
            redactor.note_properties(self.ksqldb)
            if self.ksqldb_user is not None:
                redactor.note(self.ksqldb_user)
        return self

    def clients(self) -> Iterator[KsqldbClient]:
        for url in self.ksqldb:
            with _client(url, self.ksqldb_user, self.ksqldb_config) as client:
                yield client


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions(KsqldbServers):
    """Evidence besides cluster and registry."""

    state_dir: tuple[str, ...] = ()
    topology: tuple[str, ...] = ()
    ksqldb_text: tuple[str, ...] = ()

    def read(self, *, application: str | None) -> Supplied:
        """Topologies belong to the named application. A silent ksqlDB is a problem in the evidence, not an error."""
        from srfix.recovery.facts.supplied import GivenTopology, Supplied
        from srfix.recovery.ksqldb.answers import parse_saved_answers
        from srfix.recovery.state.directory_reader import read_state_directory, shut_folders
        from srfix.recovery.topology import parse_topologies

        return Supplied(
            shut=tuple(folder for path in self.state_dir for folder in shut_folders(Path(path))),
            state=tuple(
                application_state for path in self.state_dir for application_state in read_state_directory(Path(path))
            ),
            topologies=tuple(
                GivenTopology(topology=topology, origin=path, application=application)
                for path in self.topology
                for topology in parse_topologies(_content(path, "--topology"), origin=path)
            ),
            ksqldb=(
                *map(_survey, self.clients()),
                *(
                    parse_saved_answers(_content(path, "--ksqldb-text"), origin=path).with_application(application)
                    for path in self.ksqldb_text
                ),
            ),
        ).with_owners()


def _survey(client: KsqldbClient) -> KsqldbAnswers:
    from srfix.recovery.ksqldb.models import KsqldbAnswers

    try:
        return client.survey()
    except KsqldbError as error:  # during an incident srfix must also work if some evidence is missing
        return KsqldbAnswers(origin=client.url, problems=(error.message,))


def _client(url: str, user: str | None, config: tuple[str, ...]) -> KsqldbClient:
    from srfix.recovery.ksqldb.client import KsqldbClient, ksqldb_bounds
    from srfix.serde.registry.secret import BasicAuth, Secret

    bounds = ksqldb_bounds(dict(parse_property(text, option="--ksqldb-config") for text in config))
    if user is not None and user.startswith(("env:", "file:")):  # a reference to USER:PASSWORD
        user = str(Secret.parse(user).reveal())
    return KsqldbClient(url, auth=None if user is None else BasicAuth.parse(user), bounds=bounds)


_KSQLDB = (
    repeatable(
        "--ksqldb",
        metavar="URL",
        help="A ksqlDB server; srfix asks it about its queries. Repeatable. Reads only.",
    ),
    option(
        "--ksqldb-user",
        metavar="USER:PASSWORD",
        help="User and password for ksqlDB. PASSWORD, or the whole value, may be env:NAME or file:PATH.",
    ),
    repeatable(
        "--ksqldb-config",
        metavar="KEY=VALUE",
        help=(
            "A limit on the size or time of ksqlDB's answers: http.answer.max.bytes, http.answer.deadline.ms, …; "
            "repeatable."
        ),
    ),
)
ksqldb_options = handing_over("ksqldb", lambda **values: KsqldbServers(**values).noted(), *_KSQLDB)

evidence_options = handing_over(
    "evidence",
    lambda **values: EvidenceOptions(**values).noted(),
    repeatable(
        "--state-dir",
        metavar="DIR",
        help=(
            "The application's state.dir, or the application's folder in state.dir, or a copy. Repeatable. srfix "
            "writes nothing there."
        ),
    ),
    repeatable(
        "--topology",
        metavar="FILE",
        help="A file with the output of Topology.describe(); repeatable.",
    ),
    *_KSQLDB,
    repeatable(
        "--ksqldb-text",
        metavar="FILE",
        help=(
            "A file with ksqlDB's answers to SHOW QUERIES EXTENDED, EXPLAIN and DESCRIBE … EXTENDED, as JSON or "
            "text; repeatable."
        ),
    ),
)


def _content(path: str, option: str) -> str:
    from srfix.recovery.explain.log_text import without_prefixes

    return without_prefixes(file_text(path, option=option))
