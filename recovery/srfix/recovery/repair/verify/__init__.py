"""Whether a repair holds: asked again, as the failing reader asks."""
