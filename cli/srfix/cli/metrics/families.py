"""The families of metrics. Each request gets the present numbers. prometheus_client writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from srfix.cli.metrics.standing import LABELS, Standing
from srfix.recovery.watch.events import End


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
