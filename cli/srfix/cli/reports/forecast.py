"""The report of `srfix guard` for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from srfix.cli.output import interface as blocks
from srfix.cli.reports.diagnosis_words import tone_of
from srfix.recovery.forecasts import Certainty, Foretold
from srfix.recovery.guard.models import Forecast, StoreKind
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import counted

_MEANS: Final = {
    Certainty.CERTAIN: "this follows from the input, and from what srfix saw.",
    Certainty.POSSIBLE: (
        "the evidence points to this. Whether it happens depends on the reader, or on the schemas that the "
        "application writes."
    ),
    Certainty.UNTOLD: "a version or a setting decides whether this happens, and srfix does not know it.",
    Certainty.EXCLUDED: "this does not happen.",
}
_MAY_HAPPEN: Final = tuple(certainty for certainty in Certainty if certainty is not Certainty.EXCLUDED)


def forecast_verdict(forecast: Forecast) -> blocks.Verdict:
    """The prediction in one line, with how much was judged and looked at."""
    serious = [finding for finding in forecast.foretold if finding.is_serious]
    counts = Counter(finding.certainty for finding in serious)
    kinds = [certainty for certainty in _MAY_HAPPEN if counts[certainty]]
    kinds_in_words = (
        kinds[0].value
        if len(kinds) == 1
        else ", ".join(f"{counts[certainty]} {certainty.value}" for certainty in kinds)
    )
    if forecast.fails:
        tone = min((tone_of(finding.severity) for finding in serious if finding.fails), key=list(blocks.Tone).index)
    else:
        tone = blocks.Tone.UNSURE if forecast.is_open else blocks.Tone.GOOD
    return blocks.Verdict(
        text=f"{counted(len(serious), 'finding')}: {kinds_in_words}"
        if serious
        else "Nothing that srfix looked at will break",
        tone=tone,
        more=_looked_at(forecast),
    )


def _looked_at(forecast: Forecast) -> str:
    notes = sum(not finding.is_serious for finding in forecast.foretold)
    judged = len({(store_forecast.store.application, store_forecast.store.name) for store_forecast in forecast.stores})
    unseen = len(forecast.skipped) + len(forecast.unasked)
    skipped = f"; {counted(unseen, 'thing')} not looked at" if unseen else ""
    ignored = f"; {len(forecast.ignored)} ignored" if forecast.ignored else ""
    return f"{counted(notes, 'note')}; {counted(judged, 'store')} judged{skipped}{ignored}."


def forecast_blocks(forecast: Forecast) -> Iterator[blocks.Block]:
    """First the findings that will break something, then notes, stores and names, and the skipped checks."""
    serious = [finding for finding in forecast.foretold if finding.is_serious]
    notes = [finding for finding in forecast.foretold if not finding.is_serious]
    for finding in serious:
        yield blocks.Heading(_title(finding), level=2, tone=tone_of(finding.severity))
        yield blocks.Paragraph(finding.explanation)
        yield blocks.Paragraph(f"{finding.certainty.value.capitalize()}: {_MEANS[finding.certainty]}")
        if finding.first:
            yield blocks.ItemList(finding.first, is_numbered=True)
    yield from blocks.titled_list("Notes", (f"{_title(finding)}: {finding.explanation}" for finding in notes))
    if forecast.ignored:
        named = enumerated([_title(finding) for finding in forecast.ignored])
        yield blocks.Paragraph(f"--ignore hides these findings, so they do not cause exit code 1: {named}.")
    yield blocks.FieldList(tuple(_assumed(forecast)), title="Judged for")
    yield from _tables(forecast)
    left_out = (*forecast.skipped, *forecast.unasked)
    yield from blocks.titled_list("Not looked at", (f"{gap.what}: {gap.reason}" for gap in left_out))


def forecast_summary(forecast: Forecast) -> str:
    serious = [finding.certainty for finding in forecast.foretold if finding.is_serious]
    counts = ", ".join(f"{serious.count(certainty)} {certainty.value}" for certainty in _MAY_HAPPEN)
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
    sources = [name for name, is_seen in seen_of if is_seen]
    yield "compared with", " and ".join(sources) or "nothing; the prediction rests on names alone"
    if forecast.schema is not None:
        yield "new schema", f"{forecast.schema.origin} under {forecast.schema.subject}"


def _title(finding: Foretold) -> str:
    whose = f"{finding.application}/{finding.store}" if finding.store else finding.subject
    return f"{f'{finding.code} ' if finding.code else ''}{whose}, {finding.severity.value}: {finding.certainty.value}"


def _tables(forecast: Forecast) -> Iterator[blocks.Block]:
    of_topics = [
        store_forecast for store_forecast in forecast.stores if store_forecast.store.kind is not StoreKind.OTHER
    ]
    other_stores = {str(each.store) for each in forecast.stores} - {str(each.store) for each in of_topics}
    if of_topics:
        yield blocks.table_of(
            of_topics,
            {
                "store": lambda store_forecast: store_forecast.store,
                "Kafka Streams": lambda store_forecast: store_forecast.version,
                "restores from": lambda store_forecast: " or ".join(w.value for w in store_forecast.wirings),
                "name that the serdes get": lambda store_forecast: " or ".join(store_forecast.handed),
            },
            title="Stores that may restore from a source topic",
        )
    if other_stores:
        yield blocks.Paragraph(
            f"These stores do not restore from a source topic: {enumerated(sorted(other_stores))}. Each of them has a "
            "changelog of its own, or no changelog. If a store has no changelog, its serdes make a subject without a "
            "topic, and this is harmless (SRF007)."
        )
    rows: dict[tuple[str, str, str], list[str]] = {}
    for subject_forecast in forecast.subjects:
        name = f"{subject_forecast.application}/{subject_forecast.store}"
        if subject_forecast.certainty is not Certainty.EXCLUDED and name not in other_stores:
            rows.setdefault(
                (subject_forecast.subject, subject_forecast.certainty.value, subject_forecast.why), []
            ).append("-" if subject_forecast.version is None else str(subject_forecast.version))
    if rows:
        yield blocks.Table(
            ("subject", "Kafka Streams", "happens", "what it is"),
            tuple((subject, ", ".join(versions), how, why) for (subject, how, why), versions in rows.items()),
            title="Subjects without a topic, after the stores have written records",
        )
