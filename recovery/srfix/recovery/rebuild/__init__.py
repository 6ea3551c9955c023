"""State directories written anew: a store rebuilt from its topic, and a whole directory migrated."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.rebuild.change import StoreChange
    from srfix.recovery.rebuild.choices import OnError, Until
    from srfix.recovery.rebuild.migrate import Migration, migrate
    from srfix.recovery.rebuild.rebuild import Build, Range, Rebuild, TopicReader, build, rebuild, take_over
    from srfix.recovery.rebuild.report import Tally
    from srfix.recovery.rebuild.reserialise import Reserialiser
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "change": ["StoreChange"],
            "migrate": ["Migration", "migrate"],
            "rebuild": ["Build", "Range", "Rebuild", "TopicReader", "build", "rebuild", "take_over"],
            "choices": ["OnError", "Until"],
            "report": ["Tally"],
            "reserialise": ["Reserialiser"],
        },
    )
