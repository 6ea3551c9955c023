"""A staged damage and what a person hands over with it: the diagnosis, and its codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from srfix.recovery import Diagnosis, Examination, Severity, Supplied
from srfix.recovery.facts.supplied import GivenTopology
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.topology import parse_topologies
from tests.recovery.world import World


def of_topology(text: str, application: str | None = "shop") -> Supplied:
    """What `--topology FILE --application ID` hands over."""
    found = parse_topologies(text, origin="topology.txt")
    return Supplied(
        topologies=tuple(GivenTopology(topology=each, origin="topology.txt", application=application) for each in found)
    )


def of_state(folder: Path) -> Supplied:
    """What `--state-dir DIR` hands over."""
    return Supplied(state=read_state_directory(folder))


def examined(world: World, supplied: Supplied | None = None, **how: Any) -> Examination:
    survey = world.survey()
    survey.supplied = supplied or Supplied()
    return world.examine(survey=survey, **how)


def wrong(diagnosis: Diagnosis) -> list[str]:
    """The codes of the findings that are no notes."""
    return [finding.code for finding in diagnosis.findings if finding.severity is not Severity.NOTE]


def noted(diagnosis: Diagnosis) -> list[str]:
    """The codes of the findings that are notes."""
    return [finding.code for finding in diagnosis.findings if finding.severity is Severity.NOTE]
