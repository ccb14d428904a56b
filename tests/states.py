"""The state of a learner, as files have it."""


def state_of(learner):
    """Return the arrays of a learner's state by their names: none before the first row."""
    return {} if learner._core is None else learner._core.save()
