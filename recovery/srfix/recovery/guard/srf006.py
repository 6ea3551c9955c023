"""SRF006: the incident in a global store."""

from __future__ import annotations

from typing import Final

CODE: Final = "SRF006"
