"""onkel: online kernel learning, bounded, exact, fast.

The public names are in :mod:`onkel._public` and are loaded at the first use of one of them, so that the command
``onkel --help`` does not wait for NumPy and scikit-learn.

>>> import onkel
>>> onkel.SPAClassifier(budget=500)
SPAClassifier(budget=500)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onkel._public import *  # noqa: F403
    from onkel.estimators.budgeted import *  # noqa: F403
    from onkel.estimators.newton import *  # noqa: F403
    from onkel.estimators.projecting import *  # noqa: F403
    from onkel.estimators.sampling import *  # noqa: F403
    from onkel.estimators.unbudgeted import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "__all__" and find_spec(f"onkel.{name}"):
        return import_module(f"onkel.{name}")
    public = import_module("onkel._public")
    try:
        value = getattr(public, name)
    except AttributeError:
        raise AttributeError(f"module 'onkel' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("onkel._public").__all__})
