"""What to tell a person: circumstances, hints, and the playbook."""

from srfix.recovery.advice.hints import Hint, circumstances_of, gather_hints, observations, with_hints
from srfix.recovery.advice.playbook import (
    Verified,
    after_repair,
    afterwards,
    afterwards_in_short,
    before_repair,
    either,
    not_before_repair,
    playbook,
    prevention,
    restart,
    until_repaired,
    upon_verification,
    upon_verification_in_short,
)
from srfix.recovery.advice.streams_generation import GenerationHint, from_commit_metadata
