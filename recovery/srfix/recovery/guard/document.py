"""The document `srfix.guard/1`. Keys may be added, never renamed; ids are numbers, absent things are null."""

from __future__ import annotations

from srfix.recovery.guard.models import Certainty, Forecast, Foretold, StoreForecast, SubjectForecast
from srfix.serde.schemas.models import Json


def forecast_document(forecast: Forecast, *, srfix_version: str, generated_at: str) -> dict[str, Json]:
    """The document of a forecast; `generated_at` in ISO 8601, UTC."""
    assumed, schema = forecast.assumed, forecast.schema
    return {
        "schema": "srfix.guard/1",
        "srfix": srfix_version,
        "generated_at": generated_at,
        "assumed": {
            "streams_version": _text(assumed.running),
            "to": _text(assumed.to),
            "optimization": None if assumed.optimization.values is None else list[Json](assumed.optimization.values),
            "reader": assumed.reader.value,
        },
        "looked_at": {
            "cluster": forecast.has_cluster,
            "registry": forecast.has_registry,
            "rows": forecast.has_rows,
        },
        "new_schema": None
        if schema is None
        else {"subject": schema.subject, "file": schema.origin, "type": schema.schema.schema_type},
        "foretold": [_foretold(each) for each in forecast.foretold],
        "ignored": [_foretold(each) for each in forecast.ignored],
        "stores": [_store(each) for each in forecast.stores],
        "subjects": [_subject(each) for each in forecast.subjects],
        "skipped": [
            {"what": each.what, "reason": each.reason, "could_hide_a_finding": each.could_hide}
            for each in (*forecast.skipped, *forecast.unasked)
        ],
        "summary": _summary(forecast),
    }


def _summary(forecast: Forecast) -> Json:
    serious = [each.certainty for each in forecast.foretold if each.is_serious]
    counts: dict[str, Json] = {
        certainty.value: serious.count(certainty) for certainty in Certainty if certainty is not Certainty.EXCLUDED
    }
    return counts | {"notes": len(forecast.foretold) - len(serious)}


def _foretold(each: Foretold) -> Json:
    return {
        "code": each.code,
        "severity": each.severity.value,
        "certainty": each.certainty.value,
        "moment": each.moment.value,
        "application": each.application or None,
        "store": each.store or None,
        "role": each.role.value,
        "subject": each.subject,
        "topic": each.topic,
        "schema_ids": [int(schema_id) for schema_id in each.schema_ids],
        "explanation": each.explanation,
        "first": list[Json](each.first),
    }


def _store(each: StoreForecast) -> Json:
    return {
        "application": each.store.application,
        "store": each.store.name,
        "kind": each.store.kind.value,
        "topic": each.store.topic,
        "weight": each.store.weight.value,
        "origin": each.store.origin,
        "streams_version": _text(each.version),
        "restores_from": [wiring.value for wiring in each.wirings],
        "loads": list[Json](each.loads),
        "handed": list[Json](each.handed),
    }


def _subject(each: SubjectForecast) -> Json:
    return {
        "subject": each.subject,
        "role": each.role.value,
        "application": each.application,
        "store": each.store,
        "why": each.why,
        "streams_version": _text(each.version),
        "certainty": each.certainty.value,
        "exists": each.exists,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
