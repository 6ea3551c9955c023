"""Plan, apply, journal, verify, roll back."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.repair.apply import (
        AlreadyApplied,
        JournalSetAside,
        LeftForLater,
        Reopened,
        StepDone,
        StepFound,
        apply_plan,
    )
    from srfix.recovery.repair.cost import Cost, cost_of
    from srfix.recovery.repair.journal import (
        Journal,
        default_journal_path,
        is_journal,
        journal_of,
        open_journal_as,
        read_journal,
        read_journal_as,
        read_plan_or_journal,
        says_nothing,
        set_aside,
    )
    from srfix.recovery.repair.journal_lines import chained_lines, document_of_line, does_not_follow, unreadable
    from srfix.recovery.repair.part import part_of, shared_subjects
    from srfix.recovery.repair.plan_documents import document_in, plan_bytes, plan_digest, save_document, untouched
    from srfix.recovery.repair.plan_file import Plan, PlannedFinding, load_plan, plan_document, save_plan
    from srfix.recovery.repair.preflight import denied_permissions, preflight
    from srfix.recovery.repair.put_back import PutBack, put_back
    from srfix.recovery.repair.rollback import AlreadyRolledBack, Left, Undone, roll_back
    from srfix.recovery.repair.shell_script import shell_script
    from srfix.recovery.repair.sign_off import NAMESPACE, load_signed_plan, require_digest, require_digest_of
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "apply": [
                "AlreadyApplied",
                "JournalSetAside",
                "LeftForLater",
                "Reopened",
                "StepDone",
                "StepFound",
                "apply_plan",
            ],
            "cost": ["Cost", "cost_of"],
            "journal": [
                "Journal",
                "default_journal_path",
                "is_journal",
                "journal_of",
                "open_journal_as",
                "read_journal",
                "read_journal_as",
                "read_plan_or_journal",
                "says_nothing",
                "set_aside",
            ],
            "journal_lines": ["chained_lines", "document_of_line", "does_not_follow", "unreadable"],
            "part": ["part_of", "shared_subjects"],
            "plan_documents": ["document_in", "plan_bytes", "plan_digest", "save_document", "untouched"],
            "plan_file": ["Plan", "PlannedFinding", "load_plan", "plan_document", "save_plan"],
            "preflight": ["denied_permissions", "preflight"],
            "put_back": ["PutBack", "put_back"],
            "rollback": ["AlreadyRolledBack", "Left", "Undone", "roll_back"],
            "shell_script": ["shell_script"],
            "sign_off": ["NAMESPACE", "load_signed_plan", "require_digest", "require_digest_of"],
        },
    )
