"""From what was learned of a store to findings."""

from srfix.recovery.checks import srf001, srf003, srf004, srf005, srf011, srf012, srf013, srf017, srf018
from srfix.recovery.checks.interface import Check, CheckContext, Reader, StreamsVersion

__all__ = ["ALL", "Check", "CheckContext", "Reader", "StreamsVersion"]

ALL: dict[str, Check] = {
    srf001.CODE: srf001.check,
    srf003.CODE: srf003.check,
    srf004.CODE: srf004.check,
    srf005.CODE: srf005.check,
    srf011.CODE: srf011.check,
    srf012.CODE: srf012.check,
    srf013.CODE: srf013.check,
    srf017.CODE: srf017.check,
    srf018.CODE: srf018.check,
}
"""Every check of this version, by code."""
