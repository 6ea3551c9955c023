"""What to do for each application, for a person, and what a person has said not to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srfix.cli.output.interface import Block, Heading, ItemList, Paragraph
from srfix.recovery.commands import Given
from srfix.recovery.findings import ApplicationAdvice, Diagnosis
from srfix.recovery.ids_in_words import counted
from srfix.serde.printable import capitalized


def advice_blocks(applications: Sequence[ApplicationAdvice]) -> Iterator[Block]:
    """A part for each application with advice."""
    for told in applications:
        if told.advice:
            yield Heading(f"What to do: {told.application}", level=2, is_apart=True)
            yield ItemList(told.advice, is_numbered=True)


def secrets_to_add(given: Given, *commands: str) -> Iterator[Block]:
    """Which secrets to add to the commands above, as none is printed; no block if none is missing."""
    left_out = given.left_out(*commands)
    if left_out:
        yield Paragraph(f"{capitalized(left_out)}.", is_of_commands=True)


def ignored_line(diagnosis: Diagnosis) -> str:
    """What was ignored, in one line: findings with their severity, and how much was not looked at."""
    findings = [f"{each.what}, {each.severity.value}" for each in diagnosis.ignored if each.severity is not None]
    unseen = len(diagnosis.ignored) - len(findings)
    parts = [f"{counted(len(findings), 'finding')} ({', '.join(findings)})"] if findings else []
    parts += [f"{counted(unseen, 'thing')} not looked at"] if unseen else []
    patterns = ", ".join(dict.fromkeys(each.pattern for each in diagnosis.ignored))
    return f"Ignored: {' and '.join(parts)}, by --ignore {patterns}."
