"""Looking again and again: what is new, what is missing for it, and registering what a signed-off plan allows."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.watch.allowance import AllowedPair, allowed_pairs
    from srfix.recovery.watch.events import (
        Deferred,
        End,
        Event,
        LookEnded,
        LookFailed,
        NewIds,
        NewVersions,
        NotExamined,
        OutageBegan,
        OutageEnded,
        Registered,
        StandsRelaxed,
        Stopped,
        Withheld,
    )
    from srfix.recovery.watch.watcher import Pace, Watcher
    from srfix.recovery.watch.writing import Writer
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "allowance": ["AllowedPair", "allowed_pairs"],
            "events": [
                "Deferred",
                "End",
                "Event",
                "LookEnded",
                "LookFailed",
                "NewIds",
                "NewVersions",
                "NotExamined",
                "OutageBegan",
                "OutageEnded",
                "Registered",
                "StandsRelaxed",
                "Stopped",
                "Withheld",
            ],
            "watcher": ["Pace", "Watcher"],
            "writing": ["Writer"],
        },
    )
