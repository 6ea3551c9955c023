"""From findings to a plan: what is needed, what the registry will say to it, what it costs."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.repair.planning.keep import Keep
    from srfix.recovery.repair.planning.plan import make_plan, plan_wants
    from srfix.recovery.repair.planning.soft_deletion import is_of_no_use
    from srfix.recovery.repair.planning.topics import make_topic_plan
    from srfix.recovery.repair.planning.wanted import ON_REQUEST, ONLY_ON_REQUEST
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "plan": ["make_plan", "plan_wants"],
            "keep": ["Keep"],
            "soft_deletion": ["is_of_no_use"],
            "topics": ["make_topic_plan"],
            "wanted": ["ON_REQUEST", "ONLY_ON_REQUEST"],
        },
    )
