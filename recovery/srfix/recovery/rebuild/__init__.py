"""State directories written anew: a store rebuilt from its topic, and a whole directory migrated."""

from srfix.recovery.rebuild.change import StoreChange
from srfix.recovery.rebuild.migrate import Migration, migrate
from srfix.recovery.rebuild.rebuild import Build, Range, Rebuild, TopicReader, Until, build, rebuild, take_over
from srfix.recovery.rebuild.report import OnError, Tally
from srfix.recovery.rebuild.reserialise import Reserialiser
