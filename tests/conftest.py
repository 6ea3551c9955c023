"""How hypothesis runs: never by the clock, and on CI with the same examples each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "srfix",
    deadline=None,  # machines are shared: how long an example takes says nothing
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("srfix")
