"""Models in files: saved and loaded, and checkpoints of a learner at work."""
