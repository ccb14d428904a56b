"""The named learners as scikit-learn estimators, from the modules of their kinds."""

from onkel.estimators import budgeted, newton, projecting, sampling, unbudgeted
from onkel.estimators.budgeted import *  # noqa: F403
from onkel.estimators.newton import *  # noqa: F403
from onkel.estimators.projecting import *  # noqa: F403
from onkel.estimators.sampling import *  # noqa: F403
from onkel.estimators.unbudgeted import *  # noqa: F403

KINDS = budgeted, newton, projecting, sampling, unbudgeted
__all__ = [name for kind in KINDS for name in kind.__all__]
