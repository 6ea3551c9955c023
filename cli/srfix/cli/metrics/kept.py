"""The Grafana dashboard and the alert rules, as they stand in the wheel."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

DASHBOARD: Final = "dashboard.json"
ALERTS: Final = "alerts.yml"


def kept_text(name: str) -> str:
    """The text of one of them."""
    return files("srfix.cli.metrics").joinpath(name).read_text(encoding="utf-8")
