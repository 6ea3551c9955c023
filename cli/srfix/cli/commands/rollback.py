"""`srfix rollback`: undoes a repair from its journal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import expect_digest_option, output_option, yes_option
from srfix.cli.output.interface import Block, Heading, ItemList, OutputFormat, Paragraph, Report, Tone, grouped
from srfix.cli.output.speaking import confirm, say_aside, write_report
from srfix.cli.version import version
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.cli.reports.plan_running import StepTold
    from srfix.recovery.actions.actions import Action
    from srfix.recovery.plans.runs import Left
    from srfix.recovery.repair.plan_file import Plan
    from srfix.recovery.repair.rollback import Undone


_PARTS = (
    ("Undone", {"undone"}),
    ("Left as it is", {"left"}),
    ("Not undone yet", {"not-reached"}),
    ("Nothing to undo", {"nothing-to-undo", "not-carried-out"}),
)
_NO_LONGER = (
    "Some rows may have been readable only because of a registration that is now undone. "
    "Such rows can no longer be read."
)
_NOTHING_DONE = "No step of the plan had been carried out, so there was nothing to undo."
_NOTHING_LEFT = "Nothing is left to undo: the repair has already reset its own changes, or somebody has undone them."


@command()
@click.argument("path", metavar="JOURNAL", type=click.Path(path_type=Path))
@expect_digest_option
@yes_option
@connection_options
@output_option
def rollback(
    path: Path, expect_digest: str | None, yes: bool, connection: Connection, output: OutputFormat
) -> ExitCode:
    """Undo a repair, last step first. If somebody else has changed something since, srfix keeps the change and names it.

    JOURNAL is the file that `srfix apply` wrote beside the plan; you may also give the plan's name. Asks first, unless
    --yes.
    """
    from srfix.cli.reports.plan_running import RollbackDocument, StepsOnTheWay, connection_of_plan, running, steps_told
    from srfix.cli.reports.topic_plans import roll_back_topic
    from srfix.recovery.actions.actions import Register
    from srfix.recovery.actions.document import describe
    from srfix.recovery.plans.journal_file import default_journal_path
    from srfix.recovery.plans.runs import AlreadyRolledBack, Left
    from srfix.recovery.plans.sign_off import require_digest
    from srfix.recovery.repair.journal import REPAIR_JOURNALS, journal_of
    from srfix.recovery.repair.rollback import Undone, roll_back
    from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS

    journal_path = default_journal_path(path) if TOPIC_PLANS.is_at(path) else journal_of(path)
    if TOPIC_JOURNALS.is_at(journal_path):
        return roll_back_topic(
            path, journal_path, expect_digest=expect_digest, yes=yes, connection=connection, output=output
        )
    state = REPAIR_JOURNALS.read(journal_path)
    plan = state.plan
    require_digest(plan.digest, expect_digest, where=journal_path)
    if not (yes or state.rolled_back or _is_wanted(plan, begun=state.before.keys() - state.undone)):
        return ExitCode.INTERRUPTED
    events: dict[int, Undone | Left[Action]] = {}
    already = False
    on_the_way = StepsOnTheWay(plan)
    with running(journal_path) as run, connection_of_plan(connection, plan).registry_client() as registry:
        for event in roll_back(journal_path, registry):
            match event:
                case Undone(action=action):
                    events[action.step] = event
                    on_the_way.say(action, f"Step {action.step} undone; the step was: {describe(action)}.")
                case Left(action=action):
                    events[action.step] = event
                    on_the_way.say(action, f"Step {action.step} left as it is; the step was: {describe(action)}.")
                case AlreadyRolledBack():
                    already = True
    stopped = run.code is not ExitCode.OK
    carried_out = REPAIR_JOURNALS.read(journal_path).after
    undone = [f"step {step}: {event.what}" for step, event in events.items() if isinstance(event, Undone)]
    left = [f"step {step}: {event.why}" for step, event in events.items() if isinstance(event, Left)]
    steps = list(steps_told(plan, events, carried_out=carried_out, undone_before=state.undone, stopped=stopped))
    blocks: list[Block] = []
    if already:
        blocks.append(Paragraph("This plan was already rolled back; this run wrote nothing."))
    elif events or stopped:
        blocks += _outcome_blocks(steps, is_whole=not stopped)
        if not stopped and any(isinstance(e, Undone) and isinstance(e.action, Register) for e in events.values()):
            blocks.append(Paragraph(_NO_LONGER))
    else:
        blocks.append(Paragraph(_NOTHING_LEFT if carried_out else _NOTHING_DONE))
    document = RollbackDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        journal=str(journal_path),
        undone=undone,
        left=left,
        steps=steps,
        is_complete=not stopped,
    )
    if blocks or output is OutputFormat.JSON:
        write_report(Report(document=document.to_json(), blocks=tuple(blocks)), output)
    if events and not stopped:  # if the rollback stopped, the last line says what to do next
        undone_count, left_count = (sum(step.outcome == outcome for step in steps) for outcome in ("undone", "left"))
        say_aside(
            f"{counted(undone_count, 'step')} undone, {left_count} left as {'it is' if left_count == 1 else 'they are'}, "
            f"{len(steps) - undone_count - left_count} with nothing to undo."
        )
    return ExitCode.PARTIAL if left or stopped else ExitCode.OK


def _outcome_blocks(steps: Sequence[StepTold], *, is_whole: bool) -> Iterator[Block]:
    """The result, then every step under its subject. If there is only one subject, it is named once."""
    left = sum(step.outcome == "left" for step in steps)
    but_for = f"; srfix leaves {counted(left, 'step')} as {'it is' if left == 1 else 'they are'}" if left else ""
    tone = Tone.GOOD if is_whole and not left else Tone.BAD
    none_undone = not any(step.outcome == "undone" for step in steps)
    outcome = "Rolled back" if is_whole else "Not rolled back" if none_undone else "Rolled back in part"
    yield Heading(f"{outcome}{but_for}", tone=tone)
    subjects = list(dict.fromkeys(step.subject for step in steps))
    if len(subjects) == 1:
        yield Paragraph(subjects[0])
    for title, outcomes in _PARTS:
        part_steps = [step for step in steps if step.outcome in outcomes]
        if part_steps:
            yield Heading(title, level=2)
        for subject in subjects:
            lines = tuple(_lines([step for step in part_steps if step.subject == subject]))
            if lines and len(subjects) > 1:
                yield Paragraph(subject)
            if lines:
                yield ItemList(lines)


def _lines(steps: Sequence[StepTold]) -> Iterator[str]:
    """A line for each step. Steps that were not undone for the same reason share a line."""
    shared = {"nothing-to-undo", "not-carried-out"}
    by_reason = grouped(steps, lambda step: step.why if step.outcome in shared else step.line)
    for reason, alike in by_reason.items():
        *others, last = (str(step.step) for step in alike)
        yield alike[0].line if not others else f"steps {', '.join(others)} and {last}: {reason}"


def _is_wanted(plan: Plan, *, begun: Collection[int]) -> bool:
    from srfix.recovery.actions.document import describe

    steps = [action for action in reversed(plan.actions) if action.step in begun]
    blocks: list[Block] = []
    for subject, actions in grouped(steps, lambda action: action.subject).items():
        lines = tuple(f"undo step {action.step}, which was: {describe(action)}" for action in actions)
        blocks += [Paragraph(subject), ItemList(lines)]
    which = "this step" if len(steps) == 1 else f"these {len(steps)} steps in reverse order" if steps else "the repair"
    unasked = "Pass --yes to undo the repair without being asked. Nothing was written."
    return confirm("srfix rollback", blocks, f"Undo {which} on {plan.registry}?", otherwise=unasked)
