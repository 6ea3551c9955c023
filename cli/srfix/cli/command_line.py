"""The groups `srfix` and `srfix state`: runs a command, and turns its end into one of the documented exit codes."""

from __future__ import annotations

import logging
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence

import click
from click.core import ParameterSource

from srfix.cli.command_classes import SHELLS, LazyGroup, print_completion
from srfix.cli.command_table import COMMANDS, STATE_COMMANDS
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.values import Choice
from srfix.cli.output.interface import ERROR
from srfix.cli.output.speaking import PrintableFormatter, say, say_aside, say_error, say_on_the_way
from srfix.cli.process import Interrupts, StandardOutputError, silence
from srfix.cli.redaction import Redactor
from srfix.cli.slow_answers import SlowAnswers
from srfix.cli.version import version
from srfix.serde.errors import SrfixError
from srfix.serde.native import engine_in_words


def _print_version(ctx: click.Context, _param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        say(f"srfix {version('srfix')}, serde engine: {engine_in_words()}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 nothing wrong, or done; 1 findings; 2 wrong usage, refused, or could not run or look at "
        "everything; 3 repair applied only in part; 70 a bug of srfix; 130 interrupted or declined."
    ),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and the serde engine, and exit.",
)
@click.option(
    "--shell-completion",
    type=Choice(SHELLS),
    expose_value=False,
    is_eager=True,
    callback=print_completion,
    help=(
        'Print the code by which a shell completes commands, options and files: eval "$(srfix --shell-completion '
        'bash)".'
    ),
)
def cli() -> None:
    """Find out why a Kafka Streams or ksqlDB state store cannot be read after recovery, and repair it."""


@click.group(cls=LazyGroup, table=STATE_COMMANDS)
def state() -> None:
    """Look into the state directory of a Kafka Streams or ksqlDB application.

    srfix never writes to the directory, not even a lock. It opens the files through links in a directory for temporary
    files. You may also give a copy. While the application runs, some rows are only in the application's memory. Neither the
    directory nor a copy of it has these rows. Stores need the extra: pip install 'srfix[state]'.
    """


def run(arguments: Sequence[str], interrupts: Interrupts) -> int:
    arguments = list(arguments)
    redactor = Redactor()
    redactor.note_arguments(arguments, os.environ)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableFormatter())
    _sweep_views()
    with SlowAnswers(lambda line: say_on_the_way(redactor.scrub(line))):
        code = _run(arguments, redactor, interrupts)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = ExitCode.PIPE_CLOSED
    except StandardOutputError as error:
        if code != ExitCode.REFUSED:  # otherwise the message has been printed already
            lost = _report_lost(error)
            code = lost if code in (ExitCode.OK, ExitCode.FINDINGS) else code
        silence(sys.stdout.fileno())
    if code == ExitCode.PIPE_CLOSED:
        silence(sys.stdout.fileno())
    return code


def _sweep_views() -> None:
    """Removes the links and copies of state directories that a killed run left; almost free if there are none."""
    try:
        where = tempfile.gettempdir()
    except FileNotFoundError:
        # No temporary directory can be written to, for example because the disk is full or read-only. Libraries ask for
        # the directory when they are loaded. A command that needs it gets an error from the system.
        where = tempfile.tempdir = os.environ.get("TMPDIR") or os.path.abspath(os.sep + "tmp")
    try:
        has_views = any(name.startswith("srfix-views-") for name in os.listdir(where))
    except OSError:
        return
    if has_views:
        from srfix.recovery.state.rocksdb import sweep_views

        sweep_views()


def _run(arguments: list[str], redactor: Redactor, interrupts: Interrupts) -> int:
    try:
        outcome = cli.main(arguments, prog_name="srfix", standalone_mode=False, obj=redactor)
    except click.Abort:
        return _stopped()
    except SystemExit as ending:
        # click exits with 1 if the pipe is closed (1 would mean "findings"), and with 0 after a shell's completion.
        return ExitCode.PIPE_CLOSED if ending.code else ExitCode.OK
    except Exception as error:  # noqa: BLE001  (the last resort: nothing may leave here as exit code 1)
        return _stopped() if interrupts.caused(error) else _explained(error, redactor)
    return int(outcome) if isinstance(outcome, int) else ExitCode.OK


def _stopped() -> ExitCode:
    say_aside("Stopped; nothing more is done.")
    return ExitCode.INTERRUPTED


def _explained(error: Exception, redactor: Redactor) -> ExitCode:
    match error:
        case click.UsageError():
            _show_usage_error(error, redactor)
        case click.ClickException():
            _say(error.format_message(), redactor)
        case SrfixError():
            _say(error.message, redactor)
        case StandardOutputError():
            return _report_lost(error)
        case ExceptionGroup():
            leaves = list(_leaves(error))
            if not all(isinstance(leaf, SrfixError) for leaf in leaves):
                return _report_bug(error, redactor)
            for leaf in leaves:
                _say(str(leaf), redactor)
        case _:
            return _report_bug(error, redactor)
    return ExitCode.REFUSED


def _report_lost(error: StandardOutputError) -> ExitCode:
    say_aside(
        f"srfix: Standard output cannot be written ({error.strerror}): the report is lost, or cut off. Make room, "
        "or send the report elsewhere. If the command wrote to a registry or a file, those writes are done.",
    )
    return ExitCode.REFUSED


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _say(message: str, redactor: Redactor) -> None:
    say_error(redactor.scrub(message))


def _show_usage_error(error: click.UsageError, redactor: Redactor) -> None:
    if isinstance(error, click.BadParameter) and error.param_hint is None:
        error.param_hint = _where_it_was_given(error)
    message = error.format_message()
    if message.startswith("Got unexpected extra argument"):
        # The arguments may be the parts of a property with blanks around its "=". Then one of them is a secret.
        message = "There are more arguments than the command takes. A property is one word: key=value."
    if isinstance(error, click.NoSuchOption) and redactor.has_properties:
        # A secret may begin with a dash, and a blank may have separated it from its property.
        near = f" Did you mean {error.possibilities[0]}?" if error.possibilities else ""
        message = (
            f"There is no such option. srfix does not show it, because it may be a secret.{near} A property is "
            "one word: key=value."
        )
    if error.ctx is not None and not isinstance(error, click.exceptions.NoArgsIsHelpError):
        say_aside(click.unstyle(error.ctx.get_usage()))
        message = f"{ERROR} {message}\nTry '{error.ctx.command_path} --help' for help."
    say_aside(redactor.scrub(message))


def _where_it_was_given(error: click.BadParameter) -> str | None:
    """Where the user gave the refused value: an option, a variable, or a key of the configuration file."""
    from srfix.cli.options.given import CONFIG_PATH

    ctx, param = error.ctx, error.param
    if ctx is None or not isinstance(param, click.Option) or param.name is None:
        return None
    option = max(param.opts, key=len)
    match ctx.get_parameter_source(param.name):
        case ParameterSource.COMMANDLINE:
            return f"'{option}'"
        case ParameterSource.ENVIRONMENT if isinstance(param.envvar, str):
            return f"'{param.envvar}'"
        case ParameterSource.DEFAULT_MAP if CONFIG_PATH in ctx.meta:
            return f"'{option.removeprefix('--')}' of the configuration file {ctx.meta[CONFIG_PATH]!r}"
        case _:
            return None


def _report_bug(error: BaseException, redactor: Redactor) -> ExitCode:
    trace = "".join(traceback.format_exception(error))
    say(redactor.scrub(trace), err=True, as_it_is=True)
    _say(
        f"This is a bug of srfix ({type(error).__name__}), not of your cluster. First check that the text above "
        f"contains nothing private. Then report the bug, with the text above and this line: srfix {version('srfix')}, "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}.",
        redactor,
    )
    return ExitCode.BUG
