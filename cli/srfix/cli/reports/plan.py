"""A plan, for a person and as its document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from srfix.cli.options.connecting import servers_shown
from srfix.cli.output import interface as blocks
from srfix.cli.reports.diagnosis_words import to_run
from srfix.cli.reports.pictures import picture_before
from srfix.recovery.actions.actions import Action, Register
from srfix.recovery.actions.document import describe
from srfix.recovery.advice.playbook import until_repaired
from srfix.recovery.commands import CommandLine, positional
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.repair.plan_file import Plan, plan_document
from srfix.recovery.report.plan_in_short import changes, counted_changes
from srfix.serde.printable import counted

_FEW_STEPS: Final = 12
"""Up to this number of steps, a format that can fold shows them unfolded."""


def plan_report(
    plan: Plan, *, path: Path | None, command_line: CommandLine, details: bool = False, folds: bool = False
) -> blocks.Report:
    """The report of a plan, with the commands for its file. With `folds`, details are folded away, with pictures."""
    return blocks.Report(
        document=plan_document(plan),
        blocks=tuple(_blocks(plan, path, command_line, details=details, folds=folds)),
        verdict=_verdict(plan),
        where=(("cluster", servers_shown(plan.bootstrap_servers)), ("registry", plan.registry)),
    )


def _verdict(plan: Plan) -> blocks.Verdict:
    is_stuck = bool(not plan.actions and plan.omissions and not plan.passed_over)
    left = f"{counted(len(plan.left_out), 'finding')} not in this plan; see below." if plan.left_out else None
    tone = blocks.Tone.UNSURE if is_stuck or left else blocks.Tone.PLAIN
    return blocks.Verdict(text=_title(plan), tone=tone, more=left)


def _blocks(
    plan: Plan, path: Path | None, command_line: CommandLine, *, details: bool, folds: bool
) -> list[blocks.Block]:
    if not plan.actions:
        return [blocks.Paragraph(_title(plan)), *_not_planned(plan)]
    if not details:
        return [*_in_short(plan, path, command_line, folds=folds)]
    return [
        blocks.Heading(_title(plan)),
        *_steps(plan.actions),
        *_expects(plan),
        blocks.Heading("What it costs", level=2),
        blocks.ItemList(plan.price),
        *_not_planned(plan),
        blocks.Heading("Before and after the repair", level=2),
        blocks.ItemList(plan.playbook, is_numbered=True),
        *_schemas(plan),
        blocks.Heading("Next", level=2),
        *_next(plan, path, command_line),
    ]


def _in_short(plan: Plan, path: Path | None, command_line: CommandLine, *, folds: bool) -> Iterator[blocks.Block]:
    yield blocks.Heading(_title(plan))
    around = until_repaired(plan.circumstances)
    if around is not None:
        yield blocks.Paragraph(around, is_warning=True)
    for subject, lines in changes(plan):
        yield blocks.Changes(title=subject, lines=lines)
        if folds:
            yield from picture_before(plan, subject)
    if folds:
        yield blocks.Folded(
            "Every step, in order", tuple(_steps(plan.actions)), is_open=len(plan.actions) <= _FEW_STEPS
        )
        yield blocks.Heading("What it costs", level=2)
    yield blocks.ItemList(plan.price)
    yield from _not_planned(plan)
    if folds:
        yield blocks.Folded("What to do before and after", (blocks.ItemList(plan.playbook, is_numbered=True),))
        yield blocks.Folded("The state that the plan expects, and the schemas", (*_expects(plan), *_schemas(plan)))
    yield from _next(plan, path, command_line)


def _title(plan: Plan) -> str:
    if not plan.actions:
        if plan.passed_over:
            return "No repair is necessary."
        nothing = "Nothing to plan: srfix saw no missing registration."
        return "Nothing can be planned now. The reasons are below." if plan.omissions else nothing
    steps = len(plan.actions)
    return f"Plan for {plan.registry}: {counted(steps, 'step')}; srfix rollback undoes {'it' if steps == 1 else 'them'}"


def _expects(plan: Plan) -> Iterator[blocks.Block]:
    yield blocks.Heading("The plan expects this state", level=2)
    for subject in sorted(plan.expects):
        yield from _state(plan.expects[subject])


def _schemas(plan: Plan) -> Iterator[blocks.Block]:
    schemas = {action.schema_id: action.schema.text for action in plan.actions if isinstance(action, Register)}
    yield blocks.Heading("The schemas", level=2)
    yield blocks.ItemList(tuple(f"{schema_id}: {text}" for schema_id, text in sorted(schemas.items())))


def _not_planned(plan: Plan) -> Iterator[blocks.Block]:
    yield from blocks.titled_list("Not in this plan", plan.left_out)
    yield from blocks.titled_list("Not asked for", plan.passed_over)


def _next(plan: Plan, path: Path | None, command_line: CommandLine) -> Iterator[blocks.Block]:
    """The digest for the reviewer of the plan, and the command to run."""
    cost: tuple[tuple[str, str], ...] = (("in all", counted_changes(plan)),)
    if plan.cost is not None:
        cost = (*cost, ("cost", plan.cost.in_words))
    if path is None:
        yield blocks.FieldList(cost)
        yield from to_run(command_line, ("plan", "-o", "plan.json"))
        return
    yield blocks.FieldList((*cost, ("digest", plan.digest)))
    yield from to_run(command_line, ("apply", *positional(str(path))))


def _steps(actions: Iterable[Action]) -> list[blocks.Block]:
    """The steps, subject by subject: a phantom subject's name is too long to stand in every line."""
    shown: list[blocks.Block] = []
    for subject, group in groupby(actions, key=lambda action: action.subject):
        rows = tuple((str(action.step), describe(action)) for action in group)
        shown.append(blocks.Table(("step", "what"), rows, title=f"Subject {subject}"))
    return shown


def _state(state: SubjectState) -> list[blocks.Block]:
    fields = ", ".join(f"{name}={value}" for name, value in sorted((state.config or {}).items()))
    items = [state.versions_in_words, fields or "no configuration of its own"]
    if state.mode is not None:
        items.append(f"mode {state.mode}")
    return [blocks.Paragraph(f"Subject {state.subject}"), blocks.ItemList(tuple(items))]


_FEW_SUBJECTS: Final = 4
"""Up to this number of subjects are shown with their ids."""
_MOST_SUBJECTS: Final = 8
"""Up to this number of subjects are named; the plan names all."""


def before_apply(plan: Plan, journal: str, command_line: CommandLine) -> Iterator[blocks.Block]:
    """The subjects, the ids, and how to undo the plan. The question itself names the number of steps."""
    subjects = sorted(plan.expects)
    items: list[str] = []
    if len(subjects) <= _FEW_SUBJECTS:
        for subject, lines in changes(plan):
            yield blocks.Changes(title=subject, lines=lines)
    else:
        registered = {action.schema_id for action in plan.actions if isinstance(action, Register)}
        ids = named_ids(sorted(registered)) if registered else "no schema id"
        items = [f"{ids} under {len(subjects)} subjects:", *subjects[:_MOST_SUBJECTS]]
        if len(subjects) > _MOST_SUBJECTS:
            items.append(f"and {len(subjects) - _MOST_SUBJECTS} more; the plan names all")
    yield blocks.ItemList((*items, f"undo: {command_line.quoted('rollback', *positional(journal))}"))
