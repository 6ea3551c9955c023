"""`srfix apply`: carries out the plan and does nothing else; it can be killed and run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.given import given_options
from srfix.cli.options.options import details_option, only_option, output_option, yes_option
from srfix.cli.options.sign_off import SignOff, sign_off_options
from srfix.cli.options.values import file_option, flag
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import confirm, say_aside, say_on_the_way, write_report
from srfix.cli.version import version
from srfix.recovery.commands import CommandLine, positional
from srfix.recovery.ids_in_words import named_ids
from srfix.serde.errors import UsageError
from srfix.serde.files import is_there
from srfix.serde.printable import capitalized, counted

if TYPE_CHECKING:
    from srfix.recovery.actions.actions import Action
    from srfix.recovery.repair.plan_file import Plan
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.schemas.models import Json


@command()
@click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))
@file_option(
    "--journal", "journal_path", help="The file for the journal. Default: PLAN.journal.jsonl, beside the plan."
)
@flag(
    "--probe-permissions",
    help=(
        "First check that this user has the right to write: send writes that are invalid on purpose, so that no "
        "registry carries them out."
    ),
)
@only_option
@sign_off_options
@yes_option
@connection_options
@details_option
@output_option
def apply(
    path: Path,
    journal_path: Path | None,
    probe_permissions: bool,
    only: tuple[str, ...],
    sign_off: SignOff,
    yes: bool,
    connection: Connection,
    details: bool,
    output: blocks.OutputFormat,
) -> ExitCode:
    """Carry out a plan, step by step, with a journal. Asks first; run it again if it was interrupted.

    By default srfix uses the registry of the plan; --registry names another URL.
    """
    from srfix.cli.reports.diagnosis_words import secrets_to_add
    from srfix.cli.reports.plan_running import StepsOnTheWay, connection_of_plan, running, way_on
    from srfix.cli.reports.topic_plans import apply_to_topic
    from srfix.recovery.actions.document import describe
    from srfix.recovery.advice.playbook import afterwards, afterwards_in_short
    from srfix.recovery.plans.journal_file import default_journal_path
    from srfix.recovery.plans.runs import AlreadyApplied, JournalSetAside, LeftForLater
    from srfix.recovery.repair.apply import Reopened, StepDone, StepFound, apply_plan, part_of, shared_subjects
    from srfix.recovery.repair.planning.own_schemas import is_of_no_use
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS

    if TOPIC_PLANS.is_at(path):
        if only or sign_off.signature is not None or sign_off.signer_key is not None or probe_permissions:
            raise UsageError(
                "A plan that writes to a topic is always carried out as a whole. --only, --probe-permissions and "
                "--signature are only for plans of srfix plan. To compare the digest of this plan, use "
                "--expect-digest."
            )
        return apply_to_topic(
            TOPIC_PLANS.load(path),
            path,
            journal_path or default_journal_path(path),
            expect_digest=sign_off.expect_digest,
            yes=yes,
            connection=connection,
            output=output,
        )
    command_line = given_options()
    plan = sign_off.plan(path)
    part = part_of(plan, only)
    again = () if journal_path is None else ("--journal", str(journal_path))
    journal_path = journal_path or default_journal_path(path)
    if not plan.actions:
        nothing = blocks.Paragraph("The plan has no steps.")
        write_report(blocks.Report(document=_document(plan, journal_path, [], (), ()), blocks=(nothing,)), output)
        return ExitCode.OK
    if not (yes or _is_wanted(part, journal_path)):
        return ExitCode.INTERRUPTED
    for subject in shared_subjects(plan, part):
        say_aside(
            f"{subject} also belongs to findings that --only leaves out. srfix carries out the steps for this subject "
            "nevertheless, so they repair those findings, too."
        )
    done: list[tuple[Action, str]] = []
    left: tuple[int, ...] = ()
    on_the_way = StepsOnTheWay(part)
    is_news, is_unfound = True, False
    with (
        running(journal_path, says="which steps are done") as run,
        connection_of_plan(connection, plan).registry_client() as registry,
    ):
        if not is_there(journal_path):
            _refuse_if_obstructed(part, registry, journal_path, probe_permissions=probe_permissions)
        for event in apply_plan(plan, registry, journal_path, only=only):
            match event:
                case StepDone(action=action):
                    done.append((action, "done"))
                    on_the_way.say(action, f"Step {action.step} of {len(plan.actions)}: {describe(action)}.")
                case StepFound(action=action):
                    done.append((action, "found done"))
                    on_the_way.say(action, f"Step {action.step} was already done: {describe(action)}.")
                case Reopened(missing=missing):
                    gone = ", ".join(f"schema id {each.schema_id} under {each.subject}" for each in missing)
                    say_on_the_way(
                        f"This plan was carried out before. Since then somebody has permanently deleted {gone}. srfix "
                        "now registers the missing ids again."
                    )
                case LeftForLater(steps=steps):
                    left = steps
                case AlreadyApplied():
                    is_news = False
                case JournalSetAside(path=aside):
                    say_on_the_way(f"The journal of an earlier run is kept as {aside}.")
        is_unfound = bool(done) and is_of_no_use(part, registry)
    code = run.code
    is_news = is_news and not (left and not done)
    following = tuple(afterwards(part.circumstances)) if code is ExitCode.OK else _NOT_YET
    in_short = following if details or code is not ExitCode.OK else tuple(afterwards_in_short(part.circumstances))
    if code is ExitCode.OK:
        still = (*_still_missing(part), *(_OF_READERS if any(each.read is not None for each in part.findings) else ()))
        unfound = (_UNFOUND.format(plan=command_line.quoted("plan", "-o", "new-plan.json")),)
        following, in_short = ((unfound,) * 2) if is_unfound else ((*still, *following), (*still, *in_short))
    subjects = (("subject", subject) for subject in sorted(part.expects))
    where = (("registry", part.registry), *subjects, ("journal", str(journal_path)))
    shown = (
        blocks.Heading(
            _outcome(part, [action.step for action, _how in done], code, is_news=is_news), tone=blocks.TONES[code]
        ),
        *((blocks.FieldList(where),) if details else ()),
        *_left(plan, left, path, command_line),
        *((blocks.ItemList(in_short),) if in_short else ()),
        *((blocks.Commands((command_line.command("verify", *positional(str(path))),)),) if code is ExitCode.OK else ()),
        *way_on(path, journal_path, code, again=again),
        *secrets_to_add(command_line, "verify" if code is ExitCode.OK else "apply", "rollback"),
    )
    write_report(blocks.Report(document=_document(plan, journal_path, done, following, left), blocks=shown), output)
    return code


def _refuse_if_obstructed(plan: Plan, registry: RegistryClient, journal_path: Path, *, probe_permissions: bool) -> None:
    """Checks, before the first write, that all the writes will be possible."""
    from srfix.recovery.repair.preflight import denied_permissions, preflight

    obstacles = list(preflight(plan, registry, journal_path))
    if probe_permissions:
        obstacles += denied_permissions(plan, registry)
    if obstacles:
        errors = list(map(UsageError, obstacles))
        raise ExceptionGroup("The repair cannot be carried out now. Nothing was written.", errors)


_NOT_YET = (
    "Until the repair is done, do not wipe the state directory, and do not restart an instance that is down: its "
    "threads may die again at the same rows.",
)

_OF_READERS = (
    "Restart what has failed, such as the task of a Connect sink. A reader that has skipped records does not read them "
    "again by itself.",
)

_UNFOUND = (
    "Start nothing yet. The failing reader asks with deleted=true, but even so this registry does not find the "
    "soft-deleted version. Make a new plan that leaves the versions live: {plan}."
)


def _still_missing(plan: Plan) -> Iterator[str]:
    """What the plan leaves broken under the subjects that it has written to."""
    left = [each for each in plan.omissions if each.subject in plan.expects and not each.is_unseen]
    which = "; ".join(f"{named_ids(each.schema_ids)} under {each.subject}" for each in left if each.schema_ids)
    if which:
        yield f"This plan leaves out {which}. Rows with such an id still fail."
    yield from (f"{capitalized(each.reason)}." for each in left if not each.schema_ids)
    if left:
        yield "The advice below is for the other rows."


def _outcome(plan: Plan, done: Sequence[int], code: ExitCode, *, is_news: bool) -> str:
    """What was carried out, including the steps of an earlier run. Steps are carried out in their order."""
    if not is_news:
        return "This plan was already applied; this run wrote nothing"
    steps = len(plan.actions)
    if code is ExitCode.OK:
        return f"Applied: {steps} of {counted(steps, 'step')} carried out"
    number = {action.step: count for count, action in enumerate(plan.actions, start=1)}
    return (
        f"Applied in part: {number[max(done)]} of {counted(steps, 'step')} carried out" if done else "Applied in part"
    )


def _left(plan: Plan, left: tuple[int, ...], path: Path, command_line: CommandLine) -> Iterator[blocks.Block]:
    if left:
        whole = replace(
            command_line, options=tuple(option for option in command_line.options if option.name != "--only")
        )
        yield blocks.Paragraph(
            f"{counted(len(left), 'step')} of the plan's {len(plan.actions)} are left. To carry them out later:"
        )
        yield blocks.Commands((whole.command("apply", *positional(str(path))),))


def _is_wanted(plan: Plan, journal_path: Path) -> bool:
    from srfix.cli.reports.plan import before_apply

    shown = before_apply(plan, str(journal_path), given_options())
    steps = "this step" if len(plan.actions) == 1 else f"these {len(plan.actions)} steps"
    return confirm("srfix apply", shown, f"Carry out {steps} on {plan.registry}?")


def _document(
    plan: Plan,
    journal_path: Path,
    done: list[tuple[Action, str]],
    following: tuple[str, ...],
    left: tuple[int, ...],
) -> dict[str, Json]:
    from srfix.cli.reports.plan_running import AppliedDocument, AppliedStep
    from srfix.recovery.actions.document import action_part

    return AppliedDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        registry=plan.registry,
        journal=str(journal_path),
        steps=[AppliedStep.of(action_part(action), outcome=how) for action, how in done],
        left=list(left),
        next=list(following),
    ).to_json()
