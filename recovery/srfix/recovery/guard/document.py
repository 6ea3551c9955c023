"""The document `srfix.guard/1`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from srfix.recovery.baseline import BesideBaseline
from srfix.recovery.documents import Count, DatedDocument, Id, Part, Skipped
from srfix.recovery.facts.reader import Reader
from srfix.recovery.findings import Weight
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.recovery.guard.models import Forecast, StoreKind, Wiring
from srfix.recovery.severity import Severity
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role


class AssumedSettings(Part):
    """Settings that the person gave and srfix did not check."""

    streams_version: str | None
    """A Kafka Streams version, such as 2.6; null if none was given."""
    to: str | None
    """The version after the upgrade; null if none was given."""
    optimization: list[str] | None
    """Null if nobody gave the setting."""
    reader: Reader


class LookedAt(Part):
    """Which sources srfix could ask."""

    has_cluster: bool = field(name="cluster")
    has_registry: bool = field(name="registry")
    has_rows: bool | UnsetType = field(name="rows", default=UNSET)
    """Whether rows of a store were read on disk."""


class SchemaToRegister(Part):
    """The schema that is about to be registered."""

    subject: str
    file: str
    type: str


class ForetoldEvent(Part):
    """One thing that will, or may, go wrong, or that is worth knowing."""

    code: str | None
    """The code, as `srfix explain` knows it; null if the catalogue has none."""
    severity: Severity
    certainty: Certainty
    moment: Moment
    """The event that causes it."""
    application: str | None
    store: str | None
    role: Role
    subject: str
    """The subject that a store will ask, or that will refuse a schema."""
    topic: str | None
    schema_ids: list[Id]
    explanation: str
    first: list[str]
    """What to do first, in order."""


class GuardedStoreForecast(Part):
    """The behaviour of a store under a version of Kafka Streams."""

    application: str
    name: str = field(name="store")
    kind: StoreKind
    topic: str | None
    weight: Weight
    origin: str
    streams_version: str | None
    """A Kafka Streams version, such as 2.6; null if none was given."""
    wirings: list[Wiring] = field(name="restores_from")
    """Several values if nobody gave the setting that decides between them."""
    loads: list[str]
    handed: list[str]
    """The topic names that its serdes may get."""


class ForecastSubject(Part):
    """A subject named after a topic that does not exist."""

    subject: str
    role: Role
    application: str
    store: str | None
    """Null for a foreign-key join's pseudo-topic."""
    why: str
    streams_version: str | None
    """A Kafka Streams version, such as 2.6; null if none was given."""
    certainty: Certainty
    exists: bool | None
    """Null if no registry was asked."""


class ForecastSummary(Part):
    """The number of predictions, by certainty."""

    certain: Count
    possible: Count
    untold: Count = field(name=Certainty.UNTOLD.value)
    notes: Count


class GuardDocument(DatedDocument, tag="srfix.guard/1"):
    """Predicts what will break: `srfix guard`."""

    assumed: AssumedSettings
    looked_at: LookedAt
    new_schema: SchemaToRegister | None
    foretold: list[ForetoldEvent]
    """Worst first, and for the same severity the most certain first."""
    ignored: list[ForetoldEvent]
    """Predictions that --ignore acknowledged."""
    stores: list[GuardedStoreForecast]
    """For each store and version, what the store does."""
    subjects: list[ForecastSubject]
    """Subjects that are named after topics that do not exist, and whether they will be created."""
    skipped: list[Skipped]
    summary: ForecastSummary
    baseline: BesideBaseline | UnsetType = UNSET
    """Only with --baseline or --write-baseline."""


def forecast_document(forecast: Forecast, *, srfix_version: str, generated_at: str) -> dict[str, Json]:
    """The document of a forecast; `generated_at` in ISO 8601, UTC."""
    assumed, schema = forecast.assumed, forecast.schema
    return GuardDocument(
        srfix=srfix_version,
        generated_at=generated_at,
        assumed=AssumedSettings(
            streams_version=_text(assumed.running),
            to=_text(assumed.to),
            optimization=None if assumed.optimization.values is None else list(assumed.optimization.values),
            reader=assumed.reader,
        ),
        looked_at=LookedAt.of(forecast),
        new_schema=None
        if schema is None
        else SchemaToRegister(subject=schema.subject, file=schema.origin, type=schema.schema.schema_type),
        foretold=[_foretold(event) for event in forecast.foretold],
        ignored=[_foretold(event) for event in forecast.ignored],
        stores=[
            GuardedStoreForecast.of(store_forecast.store, store_forecast, streams_version=_text(store_forecast.version))
            for store_forecast in forecast.stores
        ],
        subjects=[
            ForecastSubject.of(subject_forecast, streams_version=_text(subject_forecast.version))
            for subject_forecast in forecast.subjects
        ],
        skipped=[Skipped.of(skip) for skip in (*forecast.skipped, *forecast.unasked)],
        summary=_summary(forecast),
    ).to_json()


def _summary(forecast: Forecast) -> ForecastSummary:
    serious = [event.certainty for event in forecast.foretold if event.is_serious]
    return ForecastSummary(
        certain=serious.count(Certainty.CERTAIN),
        possible=serious.count(Certainty.POSSIBLE),
        untold=serious.count(Certainty.UNTOLD),
        notes=len(forecast.foretold) - len(serious),
    )


def _foretold(event: Foretold) -> ForetoldEvent:
    return ForetoldEvent.of(event, application=event.application or None, store=event.store or None)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
