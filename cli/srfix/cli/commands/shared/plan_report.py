"""A plan, for a person and as its document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from srfix.cli.commands.shared.advice import secrets_to_add
from srfix.cli.output import Block, Commands, FieldList, Heading, ItemList, Paragraph, Report, Table
from srfix.recovery.actions import Action, Register, describe
from srfix.recovery.commands import Given, positional
from srfix.recovery.facts import SubjectState
from srfix.recovery.ids_in_words import counted
from srfix.recovery.repair import Plan, plan_document


def plan_report(plan: Plan, *, path: Path | None, given: Given, details: bool = False) -> Report:
    """The report of a plan.

    :param path: where it was written, for the commands at the end, as is what was given.
    :param details: True to show also what it expects to find, and the schemas.
    """
    return Report(document=plan_document(plan), blocks=tuple(_blocks(plan, path, given, details=details)))


def _blocks(plan: Plan, path: Path | None, given: Given, *, details: bool) -> list[Block]:
    if not plan.actions:
        if plan.omissions and not plan.passed_over:
            return [Paragraph("Nothing can be planned as things stand: what is in the way is said below.")]
        if not plan.passed_over:
            return [Paragraph("Nothing to repair: no registration is missing.")]
        return [Paragraph("Nothing must be repaired."), *_passed_over(plan)]
    blocks: list[Block] = [
        Heading(f"Plan for {plan.registry}"),
        Paragraph(
            f"{counted(len(plan.actions), 'step')}, and nothing else is written. It can be undone: srfix rollback."
            + ("" if details else " What it expects to find, and the schemas: --details")
        ),
        FieldList((("plan", plan.digest),)),
        *_steps(plan.actions),
        *(_expects(plan) if details else ()),
        Heading("What it costs", level=2),
        ItemList(plan.price),
        *_left_out(plan),
        *_passed_over(plan),
        Heading("Around it", level=2),
        ItemList(plan.playbook, is_numbered=True),
    ]
    blocks += [
        *(_schemas(plan) if details else ()),
        Heading("Next", level=2),
        Commands(_next(path, given)),
        *secrets_to_add(given, *(("plan",) if path is None else ("apply", "verify"))),
    ]
    return blocks


def _expects(plan: Plan) -> Iterator[Block]:
    yield Heading("It expects to find", level=2)
    for subject in sorted(plan.expects):
        yield from _state(plan.expects[subject])


def _schemas(plan: Plan) -> Iterator[Block]:
    schemas = {action.schema_id: action.schema.text for action in plan.actions if isinstance(action, Register)}
    yield Heading("The schemas", level=2)
    yield ItemList(tuple(f"{schema_id}: {text}" for schema_id, text in sorted(schemas.items())))


def _left_out(plan: Plan) -> list[Block]:
    return [Heading("Not in this plan", level=2), ItemList(plan.left_out)] if plan.left_out else []


def _passed_over(plan: Plan) -> list[Block]:
    return [Heading("Not asked for", level=2), ItemList(plan.passed_over)] if plan.passed_over else []


def _next(path: Path | None, given: Given) -> tuple[str, ...]:
    if path is None:
        return (given.command("plan", "-o", "plan.json"),)
    file = positional(str(path))
    return (given.command("apply", *file), given.command("verify", *file))


def _steps(actions: Iterable[Action]) -> list[Block]:
    """The steps, subject by subject: a phantom subject's name is too long to stand in every line."""
    blocks: list[Block] = []
    for subject, group in groupby(actions, key=lambda action: action.subject):
        rows = tuple((str(action.step), describe(action)) for action in group)
        blocks.append(Table(("step", "what"), rows, title=f"Subject {subject}"))
    return blocks


def _state(state: SubjectState) -> list[Block]:
    fields = ", ".join(f"{name}={value}" for name, value in sorted((state.config or {}).items()))
    items = [state.versions_in_words, fields or "no configuration of its own"]
    if state.mode is not None:
        items.append(f"mode {state.mode}")
    return [Paragraph(f"Subject {state.subject}"), ItemList(tuple(items))]
