"""The learners of the literature, each as a choice of parts.

With their default parameters they are

==========  ==========  ================  ===========================  =====================  =======
learner     loss        admission         step                         eviction               output
==========  ==========  ================  ===========================  =====================  =======
Perceptron  perceptron  OnMistake         GradientStep                 Stop                   last
OGD         hinge       OnGradient        GradientStep                 Stop                   last
PA          hinge       OnGradient        PassiveAggressiveStep        Stop                   last
Pegasos     hinge       OnGradient        PegasosStep                  Stop                   last
FSGD        hinge       OnGradient        GradientStep                 Stop                   last
KLR         log_loss    AuxiliaryShift    GradientStep                 Stop                   average
OSKL        log_loss    GradientSampling  ImportanceStep               Stop                   average
SPA         hinge       LossSampling      SparsePassiveAggressiveStep  Stop                   average
RBP         perceptron  OnMistake         GradientStep                 RemoveRandom           last
Forgetron   perceptron  OnMistake         GradientStep                 ShrinkAndRemoveOldest  last
NORMA       hinge       OnGradient        GradientStep                 RemoveOldest           last
BPA         hinge       OnGradient        PassiveAggressiveStep        ProjectOnNewcomer      last
BOGD        hinge       OnGradient        GradientStep                 ResampleByWeight       last
BSGD        hinge       OnGradient        PegasosStep                  RemoveSmallest         last
NPBSGD      hinge       OnGradient        PegasosStep                  RemoveSmallest         last
DualSGD     hinge       OnGradient        PegasosStep                  MoveIntoFeatures       last
Projectron  perceptron  OnMistake         GradientStep                 ProjectNewcomer        last
POLK        hinge       OnGradient        GradientStep                 KOMP                   last
==========  ==========  ================  ===========================  =====================  =======

and, among the second-order learners,

=======  ========  =============  =================  ============  ======
learner  loss      prior          dictionary         memory        output
=======  ========  =============  =================  ============  ======
Newton   log_loss  GaussianPrior  GrowingDictionary  StreamMemory  last
=======  ========  =============  =================  ============  ======

A learner with the eviction ``Stop`` keeps every row that it admits until its budget is full.

Parts combine freely: OSKL's sampling with RBP's eviction is

>>> from dataclasses import replace
>>> import onkel
>>> from onkel.parts import RemoveRandom, ResampleUniformly
>>> from sklearn.datasets import make_moons
>>> X, y = make_moons(2000, noise=0.1, random_state=0)
>>> recipe = replace(onkel.recipes.OSKL(G=2), eviction=RemoveRandom(), average=False)
>>> model = onkel.KernelClassifier(recipe, budget=50, gamma=2.0, random_state=0).fit(X, y)
>>> model.n_support_, model.score(X, y) > 0.9
(50, True)

and SPA with BOGD's is

>>> recipe = replace(onkel.recipes.SPA(eta=0.5, beta=2.0), eviction=ResampleUniformly(cap=0.5), average=False)
>>> model = onkel.KernelClassifier(recipe, budget=50, gamma=2.0, random_state=0).fit(X, y)
>>> model.n_support_, model.score(X, y) > 0.9
(50, True)
"""

# In the order of the tables.
# isort: off
from onkel.recipes.unbudgeted import Perceptron, OGD, PA, Pegasos, FSGD
from onkel.recipes.sampling import KLR, OSKL, SPA
from onkel.recipes.budgeted import RBP, Forgetron, NORMA, BPA, BOGD, BSGD, NPBSGD, DualSGD
from onkel.recipes.projecting import Projectron, POLK
from onkel.recipes.second_order import Newton

# isort: on
# The literature's names for variants, which are no learners of the table.
from onkel.recipes.variants import BPANN as BPANN
from onkel.recipes.variants import BPAP as BPAP
from onkel.recipes.variants import BPAS as BPAS
from onkel.recipes.variants import PAI as PAI
from onkel.recipes.variants import PAII as PAII
from onkel.recipes.variants import BOGDPlusPlus as BOGDPlusPlus
from onkel.recipes.variants import KLRAuxiliary as KLRAuxiliary
from onkel.recipes.variants import KLRMargin as KLRMargin
from onkel.recipes.variants import ProjectronPlusPlus as ProjectronPlusPlus

__all__ = [
    "BOGD",
    "BPA",
    "BSGD",
    "FSGD",
    "KLR",
    "NORMA",
    "NPBSGD",
    "OGD",
    "OSKL",
    "PA",
    "POLK",
    "RBP",
    "SPA",
    "DualSGD",
    "Forgetron",
    "Newton",
    "Pegasos",
    "Perceptron",
    "Projectron",
]
