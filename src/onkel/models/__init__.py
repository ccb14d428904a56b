"""Fitted functions as values: saved and loaded, compressed and merged, imported and exported."""
