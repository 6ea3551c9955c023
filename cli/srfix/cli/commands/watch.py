"""`srfix watch`: repeats the diagnosis, registers what a signed-off plan allows, reports to Prometheus and the log."""

from __future__ import annotations

import json
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.options import Hurry, Selection, hurry_options, output_option, selection_options
from srfix.cli.options.sign_off import Allow, allow_options
from srfix.cli.options.values import flag, option
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say, say_aside, show, show_json
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.serde.errors import UsageError
from srfix.serde.waiting import watch_with

if TYPE_CHECKING:
    from srfix.cli.ending import Ending
    from srfix.recovery.findings import Diagnosis
    from srfix.recovery.watch.writing import Writer


OFF: Final = "off"
DASHBOARD: Final = "dashboard.json"
ALERTS: Final = "alerts.yml"


def listen_address(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[str, int] | None:
    """Host and port; None for `off`."""
    return None if text == OFF else host_and_port(text, f"HOST:PORT or {OFF}")


def host_and_port(text: str, expected: str = "HOST:PORT") -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"expected {expected}, not {text!r}.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def kept_text(name: str) -> str:
    """The text of the Grafana dashboard or of the alert rules, which are files in the wheel."""
    from importlib.resources import files

    return files("srfix.cli.metrics").joinpath(name).read_text(encoding="utf-8")


def print_kept(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        show(kept_text(DASHBOARD if param.name == "print_dashboard" else ALERTS), end="")
        ctx.exit()


_printing = partial(flag, is_eager=True, expose_value=False, callback=print_kept)


@command()
@allow_options
@option(
    "--interval",
    type=click.FloatRange(min=0.1, max=86400),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often srfix looks for new versions of the source subjects, and for ids in new records.",
)
@option(
    "--full-interval",
    type=click.FloatRange(min=1, max=30 * 86400),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="How often srfix makes a full diagnosis. srfix also makes one whenever there may be new candidates.",
)
@option(
    "--listen",
    default="127.0.0.1:9577",
    show_default=True,
    metavar="HOST:PORT",
    callback=listen_address,
    help=(
        "The address of /metrics and /healthz; off turns both off. Everybody who can reach this address can read "
        "the names of applications and stores."
    ),
)
@flag(
    "--once",
    help="Make one full diagnosis, register what the signed-off plan allows, and exit. /metrics and /healthz are off.",
)
@_printing("--print-dashboard", help="Print a Grafana dashboard of watch's metrics (JSON), and exit.")
@_printing("--print-alerts", help="Print alert rules for Prometheus (YAML), and exit.")
@connection_options
@selection_options
@evidence_options
@hurry_options
@engine_options
@output_option
def watch(
    allow: Allow,
    interval: float,
    full_interval: float,
    listen: tuple[str, int] | None,
    once: bool,
    connection: Connection,
    selection: Selection,
    evidence: EvidenceOptions,
    hurry: Hurry,
    engine: CensusEngineChoice,
    output: OutputFormat,
) -> ExitCode:
    """Diagnose a cluster again and again; register what a signed-off plan allows, before a restore needs it.

    Runs until SIGTERM (exit code 0) or an interrupt. With --once the exit code is that of srfix diagnose. --output json
    writes one JSON document on each line.
    """
    from srfix.cli.ending import Ended, Ending
    from srfix.cli.metrics.serving import serving
    from srfix.cli.metrics.standing import Standing
    from srfix.cli.reports.watch import document, in_words, is_news
    from srfix.cli.session import open_session
    from srfix.recovery.watch.events import LookEnded
    from srfix.recovery.watch.watcher import Pace, Watcher

    if not once:
        watch_with(nullcontext)  # watch writes a log, so it needs no lines about slow answers
    ending, standing = Ending(), Standing(interval_s=interval)
    last: Diagnosis | None = None
    try:
        with ExitStack() as stack:
            stack.enter_context(ending.watch())
            session = stack.enter_context(
                open_session(connection, selection, evidence, hurry, choice=engine, quiet=True)
            )
            registry = stack.enter_context(connection.registry_client())
            survey = session.survey
            watcher = Watcher(
                cluster=survey.cluster,
                registry=registry,
                new_survey=lambda: survey.anew(registry),
                examine=lambda fresh: session.examine_anew(fresh, on_progress=standing.goes_on),
                pace=Pace(interval_s=interval, full_interval_s=full_interval, once=once),
                writer=_writer(allow, ending),
                wait=ending.wait,
            )
            if listen is not None and not once:
                host, port = stack.enter_context(serving(standing, *listen))
                where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
                say_aside(f"srfix {version('srfix')} watches; /metrics and /healthz are on {where}.")
            for event in watcher.events():
                standing.take(event)
                if is_news(event) and output is OutputFormat.JSON:
                    show_json(json.dumps(document(event, at=now()).to_json(), ensure_ascii=False))
                elif is_news(event):
                    say(f"{now()} {in_words(event)}")
                if isinstance(event, LookEnded) and event.diagnosis is not None:
                    last = event.diagnosis
                if ending.signal is not None:
                    break
    except BaseException as error:
        if ending.signal is None:
            raise
        if not isinstance(error, Ended):
            say_aside("The signal came during a request. srfix did not wait for the answer.")
    if ending.signal is not None:
        begun = "" if allow.path is None else " The journals name the steps that it had begun."
        say_aside(f"A signal ended srfix watch. It does nothing more.{begun}")
        return ending.code
    if last is None or last.is_inconclusive:
        return ExitCode.REFUSED
    return ExitCode.FINDINGS if last.has_findings else ExitCode.OK


def _writer(allow: Allow, ending: Ending) -> Writer | None:
    from srfix.recovery.watch.allowance import allowed_pairs
    from srfix.recovery.watch.writing import Writer

    if allow.path is None:
        return None
    plan = allow.plan(allow.path)
    pairs = allowed_pairs(plan)
    journals = allow.journals or Path(f"{allow.path}.watch")
    try:
        journals.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The directory {journals} for the journals cannot be made ({error.strerror}); name another one with --journals. "
            "Nothing is written without a journal."
        ) from error
    return Writer(pairs=pairs, plan=plan, plan_path=allow.path, journals=journals, undisturbed=ending.undisturbed)
