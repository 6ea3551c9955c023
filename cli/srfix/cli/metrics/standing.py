"""The present state in numbers, from the events of a watch or from one diagnosis, and the families of metrics that
prometheus_client writes of it. Another thread reads it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from srfix.recovery.findings import Diagnosis, Severity, finding_order
from srfix.recovery.watch import events
from srfix.serde.schemas.models import Json

_MOST_SERIES: Final = 1000
"""The most series of one family. One more series sums up all others."""
_OTHERS: Final = "(others)"
_LOOKS: Final = 3
"""After this number of intervals without a look, a watch is not healthy."""
LABELS: Final = ("code", "severity", "application", "store", "role")

_IDS_MISSING: Final = "Schema ids missing under a phantom subject, each counted once for each subject."
_NOT_LOOKED_AT: Final = "Checks that the last full look skipped, and that could hide a finding."
_LAST_LOOK: Final = "When the cluster and the registry last both answered."
_REGISTRATIONS: Final = "Schema ids missing under a phantom subject, by whether watch registered them."
_RELAXED: Final = "Phantom subjects whose compatibility somebody relaxed and did not put back."
_LAG: Final = "Records that the last short look did not read; the next look will read them."

_Numbers: TypeAlias = Mapping[Any, float] | None
"""By the labels' values; None if they are not known."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """The sums of all events so far."""

    interval_s: float = 10.0
    """The seconds between two short looks."""
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    _findings: dict[tuple[str, ...], int] | None = None
    """Findings by code, severity, application, store and role, notes included; None if nothing was looked at."""
    _missing: set[tuple[str, int]] = field(default_factory=set)
    _withheld: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _not_looked_at: int | None = None
    """Only skipped things that could hide a finding. Other things are skipped in every look, so they raise no alert."""
    _stores: int | None = None
    _last_look_s: float | None = None
    """The last time when both cluster and registry had answered, in seconds since 1970."""
    _sign_of_life_s: float | None = None
    _durations_s: dict[str, float] = field(default_factory=dict)
    """The duration of the last look, by kind (`full` or `short`)."""
    _lag: int = 0
    _registrations: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By phantom subject and outcome."""
    _relaxed: set[str] = field(default_factory=set)
    _outages: Counter[events.End] = field(default_factory=Counter)
    _up: dict[events.End, bool] = field(default_factory=dict)
    """Whether cluster and registry answered. If one is missing here, srfix did not ask it."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, event: events.Event) -> None:
        with self._lock:
            match event:
                case events.LookEnded():
                    self._looked(event)
                case events.Registered(subject=subject, schema_ids=ids):
                    self._registrations[subject, "registered"] += len(ids)
                    self._withheld.pop(subject, None)
                    self._missing -= {(subject, int(schema_id)) for schema_id in ids}
                    self._relaxed.discard(subject)
                case (
                    events.Withheld(subject=subject, schema_ids=ids) | events.Deferred(subject=subject, schema_ids=ids)
                ):
                    outcome = "withheld" if isinstance(event, events.Withheld) else "deferred"
                    self._registrations[subject, outcome] += len(ids)
                    self._withheld[subject] = tuple(map(int, ids))
                case events.Stopped(subject=subject):
                    self._registrations[subject, "stopped"] += 1
                case events.StandsRelaxed(subject=subject, put_back=put_back):
                    self._relaxed.discard(subject) if put_back else self._relaxed.add(subject)
                case events.OutageBegan(end=end):
                    self._outages[end] += 1
                    self._up[end] = False
                case events.OutageEnded(end=end):
                    self._up[end] = True
                case _:
                    pass

    def down(self, *ends: events.End) -> None:
        """Notes that the cluster or the registry did not answer."""
        with self._lock:
            self._up.update(dict.fromkeys(ends, False))

    def goes_on(self, _progress: object = None) -> None:
        """Notes that a long look is still running."""
        with self._lock:
            if self._sign_of_life_s is not None:
                self._sign_of_life_s = self.monotonic()

    def _looked(self, event: events.LookEnded) -> None:
        self._last_look_s = self.clock()
        self._sign_of_life_s = self.monotonic()
        self._durations_s["short" if event.diagnosis is None else "full"] = event.duration_s
        self._lag = event.lag_records
        self._up = dict.fromkeys(events.End, True)
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

    def families(self, *, is_watch: bool) -> list[Metric]:
        """Every family. If nothing was looked at, families without a number are left out."""
        with self._lock:
            return [*self._families(is_watch=is_watch)]

    def _families(self, *, is_watch: bool) -> Iterator[Metric]:
        withheld = {(subject, schema_id) for subject, ids in self._withheld.items() for schema_id in ids}
        missing = None if self._findings is None else len(self._missing | withheld)
        up = {(end.value,): self._up[end] for end in events.End if end in self._up}
        durations = {(look,): seconds for look, seconds in sorted(self._durations_s.items())}
        yield from _metrics(
            GaugeMetricFamily,
            {
                "srfix_up": ("1 if this end (the cluster or the registry) answered the last request.", ("end",), up),
                "srfix_findings": ("Findings of the last full look, notes too.", LABELS, self._findings),
                "srfix_ids_missing": (_IDS_MISSING, (), _alone(missing)),
                "srfix_not_looked_at": (_NOT_LOOKED_AT, (), _alone(self._not_looked_at)),
                "srfix_stores_examined": ("Stores that the last full look examined.", (), _alone(self._stores)),
                "srfix_last_look_timestamp_seconds": (_LAST_LOOK, (), _alone(self._last_look_s)),
                "srfix_look_duration_seconds": ("How long the last look took.", ("look",), durations),
            },
        )
        if is_watch:
            outages = {(end.value,): self._outages[end] for end in events.End}
            yield from _metrics(
                CounterMetricFamily,
                {
                    "srfix_registrations": (_REGISTRATIONS, ("subject", "outcome"), self._registrations),
                    "srfix_outages": ("Outages of the cluster or the registry since the start.", ("end",), outages),
                },
            )
            yield from _metrics(
                GaugeMetricFamily,
                {
                    "srfix_relaxed_subjects": (_RELAXED, (), _alone(len(self._relaxed))),
                    "srfix_lag_records": (_LAG, (), _alone(self._lag)),
                },
            )

    def health(self) -> tuple[bool, dict[str, Json]]:
        with self._lock:
            away = [end.value for end in events.End if self._up.get(end) is False]
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
                "ends": {end.value: self._up.get(end) for end in events.End},
            }
            return reason is None, document


def _metrics(
    kind: type[GaugeMetricFamily | CounterMetricFamily], families: Mapping[str, tuple[str, tuple[str, ...], _Numbers]]
) -> Iterator[Metric]:
    for name, (says, labels, numbers) in families.items():
        if numbers is not None:
            metric = kind(name, says, labels=labels)
            for values, number in numbers.items():
                metric.add_metric(values, number)
            yield metric


def _alone(number: float | None) -> _Numbers:
    return None if number is None else {(): number}


@dataclass(frozen=True, slots=True, eq=False)
class Families(Collector):
    """A collector for a registry of prometheus_client. Each request gets the present numbers."""

    standing: Standing
    is_watch: bool = True
    """True to include the metrics that only a watch counts."""

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("srfix_build", "The version of srfix.", value={"version": version("srfix")})
        yield from self.standing.families(is_watch=self.is_watch)
