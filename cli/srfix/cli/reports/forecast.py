"""What `srfix guard` tells a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.cli.output.interface import Block, FieldList, Heading, ItemList, Paragraph, Table, Tone, Verdict, titled_list
from srfix.cli.reports.diagnosis_words import tone_of
from srfix.recovery.forecasts import Certainty, Foretold
from srfix.recovery.guard.models import Forecast, StoreKind
from srfix.recovery.ids_in_words import counted, enumerated

_NOTHING = "-"
_MEANS: Final = {
    Certainty.CERTAIN: "this follows from the input, and from what srfix saw.",
    Certainty.POSSIBLE: "the evidence points to this; the reader, or the schemas that the application writes, decide.",
    Certainty.UNTOLD: "a version or a setting decides whether this happens, and srfix does not know it.",
    Certainty.EXCLUDED: "this does not happen.",
}


def forecast_verdict(forecast: Forecast) -> Verdict:
    """What will break, in a line, and how much was judged and looked at."""
    serious = [each for each in forecast.foretold if each.is_serious]
    counts = {each: sum(of.certainty is each for of in serious) for each in Certainty if each is not Certainty.EXCLUDED}
    kinds = [each for each, count in counts.items() if count]
    told = kinds[0].value if len(kinds) == 1 else ", ".join(f"{counts[each]} {each.value}" for each in kinds)
    if forecast.fails:
        tone = min((tone_of(each.severity) for each in serious if each.fails), key=list(Tone).index)
    else:
        tone = Tone.UNSURE if forecast.is_open else Tone.GOOD
    return Verdict(
        text=f"{counted(len(serious), 'finding')}: {told}" if serious else "Nothing that was looked at will break",
        tone=tone,
        more=_looked_at(forecast),
    )


def _looked_at(forecast: Forecast) -> str:
    notes = sum(not each.is_serious for each in forecast.foretold)
    judged = len({(each.store.application, each.store.name) for each in forecast.stores})
    unseen = len(forecast.skipped) + len(forecast.unasked)
    skipped = f"; {counted(unseen, 'thing')} not looked at" if unseen else ""
    ignored = f"; {len(forecast.ignored)} ignored" if forecast.ignored else ""
    return f"{counted(notes, 'note')}; {counted(judged, 'store')} judged{skipped}{ignored}."


def forecast_blocks(forecast: Forecast) -> Iterator[Block]:
    """The report: what will break first, then notes, then stores and names, and what was not looked at."""
    serious = [each for each in forecast.foretold if each.is_serious]
    notes = [each for each in forecast.foretold if not each.is_serious]
    for each in serious:
        yield Heading(_title(each), level=2, tone=tone_of(each.severity))
        yield Paragraph(each.explanation)
        yield Paragraph(f"{each.certainty.value.capitalize()}: {_MEANS[each.certainty]}")
        if each.first:
            yield ItemList(each.first, is_numbered=True)
    yield from titled_list("Notes", (f"{_title(each)}: {each.explanation}" for each in notes))
    if forecast.ignored:
        named = enumerated([_title(each) for each in forecast.ignored])
        yield Paragraph(f"Ignored (--ignore), so these findings do not cause exit code 1: {named}.")
    yield FieldList(tuple(_assumed(forecast)), title="Judged for")
    yield from _tables(forecast)
    left_out = (*forecast.skipped, *forecast.unasked)
    yield from titled_list("Not looked at", (f"{each.what}: {each.reason}" for each in left_out))


def forecast_summary(forecast: Forecast) -> str:
    """The last line, on standard error."""
    serious = [each.certainty for each in forecast.foretold if each.is_serious]
    counts = ", ".join(f"{serious.count(each)} {each.value}" for each in Certainty if each is not Certainty.EXCLUDED)
    return f"What breaks: {counts}; {_looked_at(forecast)}"


def _assumed(forecast: Forecast) -> Iterator[tuple[str, str]]:
    assumed = forecast.assumed
    yield "Kafka Streams", "not said" if assumed.running is None else str(assumed.running)
    if assumed.to is not None:
        yield "changed to", str(assumed.to)
    yield "topology.optimization", str(assumed.optimization)
    yield "reader", assumed.reader.value
    seen_of = (
        ("cluster", forecast.has_cluster),
        ("registry", forecast.has_registry),
        ("rows on disk", forecast.has_rows),
    )
    looked = [name for name, seen in seen_of if seen]
    yield "compared with", " and ".join(looked) or "nothing, only names"
    if forecast.schema is not None:
        yield "new schema", f"{forecast.schema.origin} under {forecast.schema.subject}"


def _title(each: Foretold) -> str:
    whose = f"{each.application}/{each.store}" if each.store else each.subject
    return f"{f'{each.code} ' if each.code else ''}{whose}, {each.severity.value}: {each.certainty.value}"


def _tables(forecast: Forecast) -> Iterator[Block]:
    of_topics = [each for each in forecast.stores if each.store.kind is not StoreKind.OTHER]
    others = {str(each.store) for each in forecast.stores} - {str(each.store) for each in of_topics}
    if of_topics:
        yield Table(
            ("store", "Kafka Streams", "restores from", "name that the serdes get"),
            tuple(
                (
                    str(each.store),
                    _text(each.version),
                    " or ".join(wiring.value for wiring in each.wirings),
                    " or ".join(each.handed),
                )
                for each in of_topics
            ),
            title="Stores that may restore from a source topic",
        )
    if others:
        yield Paragraph(
            f"These stores do not: {enumerated(sorted(others))}. Each of them has a changelog of its own, or no "
            "changelog. If a store has no changelog, its serdes make a subject without a topic, and this is "
            "harmless (SRF007)."
        )
    rows: dict[tuple[str, str, str], list[str]] = {}
    for each in forecast.subjects:
        name = f"{each.application}/{each.store}"
        if each.certainty is not Certainty.EXCLUDED and name not in others:
            rows.setdefault((each.subject, each.certainty.value, each.why), []).append(_text(each.version))
    if rows:
        yield Table(
            ("subject", "Kafka Streams", "happens", "what it is"),
            tuple((subject, ", ".join(versions), how, why) for (subject, how, why), versions in rows.items()),
            title="Subjects without a topic, after the stores have written records",
        )


def _text(value: object) -> str:
    return _NOTHING if value is None else str(value)
