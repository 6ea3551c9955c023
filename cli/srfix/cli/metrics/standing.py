"""The present state in numbers, from the events of a watch or from one diagnosis, and the families of metrics that
prometheus_client writes of it. Another thread reads it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from srfix.recovery.findings import Diagnosis, Severity, finding_order
from srfix.recovery.watch.events import (
    Deferred,
    End,
    Event,
    LookEnded,
    OutageBegan,
    OutageEnded,
    Registered,
    StandsRelaxed,
    Stopped,
    Withheld,
)
from srfix.serde.schemas.models import Json

_MOST_SERIES: Final = 1000
"""The most series of one family. One more series sums up all others."""
_OTHERS: Final = "(others)"
_LOOKS: Final = 3
"""After this number of intervals without a look, a watch is not healthy."""
LABELS: Final = ("code", "severity", "application", "store", "role")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A snapshot."""

    findings: Mapping[tuple[str, ...], int] | None
    """Findings by code, severity, application, store and role, notes included; None if nothing was looked at."""
    ids_missing: int | None
    not_looked_at: int | None
    """Counts only skipped things that could hide a finding. Others occur in every look, and are no reason for an
    alert."""
    stores: int | None
    last_look_s: float | None
    """The last time when both cluster and registry had answered, in seconds since 1970."""
    durations_s: Mapping[str, float]
    """The duration of the last look, by kind (`full` or `short`)."""
    lag_records: int
    registrations: Mapping[tuple[str, str], int]
    """Counts by phantom subject and outcome."""
    relaxed: tuple[str, ...]
    """The subjects whose compatibility is still relaxed."""
    outages: Mapping[End, int]
    up: Mapping[End, bool]
    """For cluster and registry: whether it answered. If one is missing here, srfix did not ask it."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """The sums of all events so far."""

    interval_s: float = 10.0
    """The seconds between two short looks."""
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    _findings: dict[tuple[str, ...], int] | None = None
    _missing: set[tuple[str, int]] = field(default_factory=set)
    _withheld: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _not_looked_at: int | None = None
    _stores: int | None = None
    _last_look_s: float | None = None
    _sign_of_life_s: float | None = None
    _durations_s: dict[str, float] = field(default_factory=dict)
    _lag: int = 0
    _registrations: Counter[tuple[str, str]] = field(default_factory=Counter)
    _relaxed: set[str] = field(default_factory=set)
    _outages: Counter[End] = field(default_factory=Counter)
    _up: dict[End, bool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, event: Event) -> None:
        """Counts one event."""
        with self._lock:
            match event:
                case LookEnded():
                    self._looked(event)
                case Registered(subject=subject, schema_ids=ids):
                    self._registrations[subject, "registered"] += len(ids)
                    self._withheld.pop(subject, None)
                    self._missing -= {(subject, int(schema_id)) for schema_id in ids}
                    self._relaxed.discard(subject)
                case Withheld(subject=subject, schema_ids=ids):
                    self._registrations[subject, "withheld"] += len(ids)
                    self._withheld[subject] = tuple(map(int, ids))
                case Deferred(subject=subject, schema_ids=ids):
                    self._registrations[subject, "deferred"] += len(ids)
                    self._withheld[subject] = tuple(map(int, ids))
                case Stopped(subject=subject):
                    self._registrations[subject, "stopped"] += 1
                case StandsRelaxed(subject=subject, put_back=put_back):
                    self._relaxed.discard(subject) if put_back else self._relaxed.add(subject)
                case OutageBegan(end=end):
                    self._outages[end] += 1
                    self._up[end] = False
                case OutageEnded(end=end):
                    self._up[end] = True
                case _:
                    pass

    def down(self, *ends: End) -> None:
        """Notes that the cluster or the registry did not answer."""
        with self._lock:
            self._up.update(dict.fromkeys(ends, False))

    def goes_on(self, _progress: object = None) -> None:
        """Notes that a long look is still running."""
        with self._lock:
            if self._sign_of_life_s is not None:
                self._sign_of_life_s = self.monotonic()

    def _looked(self, event: LookEnded) -> None:
        self._last_look_s = self.clock()
        self._sign_of_life_s = self.monotonic()
        self._durations_s["short" if event.diagnosis is None else "full"] = event.duration_s
        self._lag = event.lag_records
        self._up = dict.fromkeys(End, True)
        if event.diagnosis is not None:
            self._diagnosed(event.diagnosis)

    def _diagnosed(self, diagnosis: Diagnosis) -> None:
        counted: Counter[tuple[str, ...]] = Counter()
        for finding in sorted(diagnosis.findings, key=finding_order):
            labels = finding.code, finding.severity.value, finding.application, finding.store, finding.role.value
            counted[labels if labels in counted or len(counted) < _MOST_SERIES else (*labels[:2], *[_OTHERS] * 3)] += 1
        self._findings = dict(counted)
        wrong = [finding for finding in diagnosis.findings if finding.severity is not Severity.NOTE]
        self._missing = {(finding.subject, int(fault.schema_id)) for finding in wrong for fault in finding.schema_ids}
        self._withheld = {}
        self._not_looked_at = sum(gap.could_hide for gap in diagnosis.not_looked_at)
        self._stores = len(diagnosis.examined)

    def numbers(self) -> Numbers:
        """A snapshot of the present numbers."""
        with self._lock:
            is_known = self._findings is not None
            withheld = {(subject, schema_id) for subject, ids in self._withheld.items() for schema_id in ids}
            return Numbers(
                findings=None if self._findings is None else dict(self._findings),
                ids_missing=len(self._missing | withheld) if is_known else None,
                not_looked_at=self._not_looked_at,
                stores=self._stores,
                last_look_s=self._last_look_s,
                durations_s=dict(self._durations_s),
                lag_records=self._lag,
                registrations=dict(self._registrations),
                relaxed=tuple(sorted(self._relaxed)),
                outages={end: self._outages[end] for end in End},
                up=dict(self._up),
            )

    def health(self) -> tuple[bool, dict[str, Json]]:
        """Whether the watch is healthy, and the document that says why."""
        with self._lock:
            away = [end.value for end in End if self._up.get(end) is False]
            age_s = None if self._sign_of_life_s is None else self.monotonic() - self._sign_of_life_s
            if away:
                reason: str | None = f"no answer from: {', '.join(away)}"
            elif age_s is None:
                reason = "watch has not completed a look yet"
            elif age_s > _LOOKS * self.interval_s:
                reason = f"the last look ended more than {_LOOKS} intervals ago"
            else:
                reason = None
            document: dict[str, Json] = {
                "status": "ok" if reason is None else "unhealthy",
                "reason": reason,
                "last_look_age_s": None if age_s is None else round(age_s, 1),
                "ends": {end.value: self._up.get(end) for end in End},
            }
            return reason is None, document


@dataclass(frozen=True, slots=True, eq=False)
class Families(Collector):
    """A collector for a registry of prometheus_client."""

    standing: Standing
    is_watch: bool = True
    """True to include the metrics that only a watch counts."""

    def collect(self) -> Iterator[Metric]:
        """Every family. If nothing was looked at, families without a number are left out."""
        numbers = self.standing.numbers()
        yield InfoMetricFamily("srfix_build", "The version of srfix.", value={"version": version("srfix")})
        up = GaugeMetricFamily(
            "srfix_up", "1 if the cluster or the registry answered the last request.", labels=("end",)
        )
        for end in End:
            if end in numbers.up or self.is_watch:
                up.add_metric((end.value,), float(numbers.up.get(end, False)))
        yield up
        if numbers.findings is not None:
            findings = GaugeMetricFamily("srfix_findings", "Findings of the last full look, notes too.", labels=LABELS)
            for labels, number in numbers.findings.items():
                findings.add_metric(labels, number)
            yield findings
        plain: tuple[tuple[str, str, float | None], ...] = (
            (
                "srfix_ids_missing",
                "Schema ids missing under a phantom subject, each counted once for each subject.",
                numbers.ids_missing,
            ),
            (
                "srfix_not_looked_at",
                "Things not looked at in the last full look that could hide a finding.",
                numbers.not_looked_at,
            ),
            ("srfix_stores_examined", "Stores that the last full look examined.", numbers.stores),
            (
                "srfix_last_look_timestamp_seconds",
                "When the cluster and the registry last both answered.",
                numbers.last_look_s,
            ),
        )
        for name, says, value in plain:
            if value is not None:
                yield GaugeMetricFamily(name, says, value=float(value))
        took = GaugeMetricFamily("srfix_look_duration_seconds", "How long the last look took.", labels=("look",))
        for look, seconds in sorted(numbers.durations_s.items()):
            took.add_metric((look,), seconds)
        yield took
        if self.is_watch:
            yield from self._of_watch()

    def _of_watch(self) -> Iterator[Metric]:
        numbers = self.standing.numbers()
        registered = CounterMetricFamily(
            "srfix_registrations",
            "Schema ids missing under a phantom subject, by whether watch registered them.",
            labels=("subject", "outcome"),
        )
        for labels, number in numbers.registrations.items():
            registered.add_metric(labels, number)
        yield registered
        outages = CounterMetricFamily(
            "srfix_outages", "Outages of the cluster or the registry since the start.", labels=("end",)
        )
        for end, number in numbers.outages.items():
            outages.add_metric((end.value,), number)
        yield outages
        relaxed = GaugeMetricFamily(
            "srfix_relaxed_subjects", "Phantom subjects whose compatibility somebody relaxed and did not put back."
        )
        relaxed.add_metric((), len(numbers.relaxed))
        yield relaxed
        lag = GaugeMetricFamily(
            "srfix_lag_records", "Records that the last short look did not read; the next one will."
        )
        lag.add_metric((), numbers.lag_records)
        yield lag
