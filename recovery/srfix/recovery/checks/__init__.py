"""One module per finding."""

from srfix.recovery.checks.counting import answered_through
from srfix.recovery.checks.interface import (
    AdviceRequest,
    CatalogueEntry,
    Check,
    Owner,
    PassedOver,
    RepairRequest,
    Rules,
    Want,
    Width,
)
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.recovery.checks.unchecked import FOREIGN_KEY_JOIN, ORPHANS, UNCHECKED
