"""Fitted functions as values: compressed and merged, imported and exported."""
