"""Pictures of models and runs, for notebooks and papers (extra ``plot``: matplotlib).

Each picture is a display in the manner of scikit-learn: ``from_estimator`` computes what is drawn and draws it; the
numbers stay in the display's fields, and ``plot`` draws them again, on other axes.

>>> import onkel
>>> from onkel.plot import SupportDisplay
>>> from sklearn.datasets import make_moons
>>> X, y = make_moons(500, noise=0.3, random_state=0)
>>> display = SupportDisplay.from_estimator(onkel.RBPClassifier(gamma=2.0, budget=20, random_state=0).fit(X, y))
>>> len(display.ages)
20
"""

from onkel.plot._chosen import ImportanceDisplay, MemoryDisplay
from onkel.plot._coverage import CoverageDisplay
from onkel.plot._curves import LearningCurveDisplay
from onkel.plot._inside import KernelWeightsDisplay, SupportDisplay
from onkel.plot._probabilities import CalibrationDisplay
from onkel.plot._surface import DecisionSurfaceDisplay

__all__ = [
    "CalibrationDisplay",
    "CoverageDisplay",
    "DecisionSurfaceDisplay",
    "ImportanceDisplay",
    "KernelWeightsDisplay",
    "LearningCurveDisplay",
    "MemoryDisplay",
    "SupportDisplay",
]
