"""One module per finding."""

from srfix.recovery.checks.counting import answered_through, at_fault
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
from srfix.recovery.checks.missing import is_untold, missing_ids
from srfix.recovery.checks.puts import why_none_registers
from srfix.recovery.checks.srf001 import want_of_phantom
from srfix.recovery.checks.srf004 import CODE as UPGRADE
from srfix.recovery.checks.srf008 import CODE as FOREIGN_KEY_JOIN
from srfix.recovery.checks.srf009 import CODE as LITTER
from srfix.recovery.checks.srf010 import CODE as POLLUTION
from srfix.recovery.checks.srf010 import internal_versions
from srfix.recovery.checks.srf016 import where_refused
from srfix.recovery.checks.srf018 import limits as retention_limits
from srfix.recovery.checks.table import BY_CODE, CHECKS
