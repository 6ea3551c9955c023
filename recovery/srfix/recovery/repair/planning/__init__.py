"""From findings to a plan: what is needed, what the registry will say to it, what it costs."""

from srfix.recovery.repair.planning.plan import make_plan, plan_wants
from srfix.recovery.repair.planning.repairs import Keep
from srfix.recovery.repair.planning.topics import make_topic_plan
from srfix.recovery.repair.planning.wanted import ON_REQUEST, ONLY_ON_REQUEST
