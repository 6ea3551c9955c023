"""The five steps of a repair, by the names of their commands."""

from srfix.recovery.diagnosis.diagnose import diagnose
from srfix.recovery.repair.apply import apply_plan as apply
from srfix.recovery.repair.planning.plan import make_plan as plan
from srfix.recovery.repair.rollback import roll_back as rollback
from srfix.recovery.repair.verify.verify import verify

__all__ = ["apply", "diagnose", "plan", "rollback", "verify"]
