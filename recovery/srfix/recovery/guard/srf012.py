"""SRF012: a registration that the registry would refuse as things stand."""

from __future__ import annotations

from typing import Final

CODE: Final = "SRF012"
