"""Whether a repair holds: asked again, as the failing reader asks."""

from srfix.recovery.repair.verify.events import Confirmed, Event, Looked, NotLookedAt, Problem, tally
from srfix.recovery.repair.verify.on_spark import EveryRowOnSpark
from srfix.recovery.repair.verify.verify import circumstances_now, outcome_of, verify
