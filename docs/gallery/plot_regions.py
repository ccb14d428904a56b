"""
Regions, and the experts of a place
===================================

On the left this function is wavy in one direction, on the right in the other and much faster at the top. One learner
has one metric for all of that. `NewtonRegressor` divides the rows where experts with kernels of their own are better,
as it goes: the lines are where, and the colours are what it predicts.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(24_000, 2))
right = np.sin(np.where(X[:, 1] > 0, 9, 3) * X[:, 0])
y = np.where(X[:, 0] < 0, np.sin(4 * X[:, 1]), right) + 0.2 * random.normal(size=len(X))


def leaf_at(regions, place):
    """The leaf that holds a place."""
    numbered = {region.number: region for region in regions}
    region = numbered[0]
    while not region.is_leaf:
        lower, upper = region.children
        region = numbered[lower if region.condition.lower(place[None])[0] else upper]
    return region


place = np.array([1.0, 1.0])
model, times, weights = onkel.NewtonRegressor(random_state=0), [], []
for begin in range(0, len(X), 200):
    model.partial_fit(X[begin : begin + 200], y[begin : begin + 200])
    leaf = leaf_at(model.regions_, place)
    times.append(model.t_)
    weights.append(dict(zip(leaf.path, leaf.weights, strict=True)))


def draw_borders(ax, regions, number=0, box=((-2.2, 2.2), (-2.2, 2.2))):
    """Draw where a region of this box is divided, and the regions below it."""
    region = next(region for region in regions if region.number == number)
    if region.is_leaf:
        return
    (feature,), (cut,) = region.condition.features, region.condition.thresholds
    line = [box[0], box[1]]
    line[feature] = (cut, cut)
    ax.plot(*line, color="black", linewidth=1.5)
    for child, side in zip(region.children, ((box[feature][0], cut), (cut, box[feature][1])), strict=True):
        draw_borders(ax, regions, child, (side, box[1]) if feature == 0 else (box[0], side))


figure, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
display = onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X)
plt.close(display.figure_)
display.rows, display.support = None, display.support[:0]  # regions alone
display.plot(ax)
draw_borders(ax, model.regions_)
ax.plot(*place, "*", color="white", markeredgecolor="black", markersize=14)
ax.set_title("What is predicted, and where the rows are divided")
for line in onkel.regions.described(model.regions_):
    print(line)

# %%
# Each row is predicted by the sum over its path: the experts of all rows, and those of every region that holds it. At
# the star the weights moved from the experts of all rows to that of its own region, each time that there was a new one:

experts = sorted(set().union(*weights))
shares = np.array([[each.get(expert, 0.0) for expert in experts] for each in weights])


def name_of(expert):
    """Where an expert is at work."""
    (number,) = (region.number for region in model.regions_ if expert in region.experts)
    conditions = onkel.regions.conditions_to(model.regions_, number)
    return ", ".join(condition.named(upper=upper) for condition, upper in conditions) or f"all rows ({expert + 1})"


figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
onkel.plot.KernelWeightsDisplay(np.array(times), shares, [name_of(expert) for expert in experts]).plot(ax)
ax.set_title("The weights of the experts at the star")
