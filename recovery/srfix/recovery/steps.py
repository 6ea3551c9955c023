"""The five steps of a repair, by the names of their commands."""

from srfix.recovery.diagnosis import diagnose
from srfix.recovery.repair import apply_plan as apply
from srfix.recovery.repair import roll_back as rollback
from srfix.recovery.repair.planning import make_plan as plan
from srfix.recovery.repair.verify import verify

__all__ = ["apply", "diagnose", "plan", "rollback", "verify"]
