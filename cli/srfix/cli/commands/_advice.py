"""What to do for each application, for a person, and what a person has said not to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srfix.cli.output.interface import Block, Heading, Items, Paragraph
from srfix.recovery.commands import Given
from srfix.recovery.findings import ApplicationAdvice, Diagnosis, Ignored

__all__ = ["advice_blocks", "ignored_line", "secrets_to_add"]


def advice_blocks(applications: Sequence[ApplicationAdvice]) -> Iterator[Block]:
    """A part for each application that there is something to say to."""
    for told in applications:
        if told.advice:
            yield Heading(f"What to do: {told.application}", level=2)
            yield Items(told.advice, is_numbered=True)


def secrets_to_add(given: Given, *commands: str) -> Iterator[Block]:
    """What a person has to add to the commands above, for no secret is printed; nothing if nothing."""
    left_out = given.left_out(*commands)
    if left_out:
        yield Paragraph(f"{left_out[0].upper()}{left_out[1:]}.")


def ignored_line(diagnosis: Diagnosis) -> str:
    """What was ignored, in one line: findings with their severity, and how much was not looked at."""
    findings = [each for each in diagnosis.ignored if each.severity is not None]
    unseen = len(diagnosis.ignored) - len(findings)
    parts = [f"{len(findings)} finding(s) ({', '.join(map(_finding, findings))})"] if findings else []
    parts += [f"{unseen} thing(s) not looked at"] if unseen else []
    patterns = ", ".join(dict.fromkeys(each.pattern for each in diagnosis.ignored))
    return f"Ignored: {' and '.join(parts)}, by --ignore {patterns}."


def _finding(ignored: Ignored) -> str:
    severity = "" if ignored.severity is None else f", {ignored.severity.value}"
    return f"{ignored.what}{severity}"
