"""The table of named learners, and what is made of its facts: checks and docstrings."""

from onkel.catalogue.learners import LEARNERS, TASKS, Named, named

__all__ = ["LEARNERS", "TASKS", "Named", "named"]
