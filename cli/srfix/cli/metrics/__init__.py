"""What Prometheus is told: the numbers, their families, the file for cron and the server for a watch."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.cli.metrics.families import Families
    from srfix.cli.metrics.kept import ALERTS, DASHBOARD, kept_text
    from srfix.cli.metrics.serving import serving
    from srfix.cli.metrics.standing import Standing
    from srfix.cli.metrics.textfile import metrics_written
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "families": ["Families"],
            "kept": ["ALERTS", "DASHBOARD", "kept_text"],
            "serving": ["serving"],
            "standing": ["Standing"],
            "textfile": ["metrics_written"],
        },
    )
