"""
POLK chooses its own size
=========================

POLK has no budget. After every mini-batch, points leave as long as the function moves by less than ε in the kernel's
own norm, and what they knew is projected on the others. The size of the dictionary is then what the problem needs: it
grows at first, and stays. `parsimony` is the paper's K, in ε = K η^1.5.
"""

import matplotlib.pyplot as plt

import onkel

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for parsimony in (0.0025, 0.01, 0.04):
    model = onkel.POLKClassifier(
        gamma=1 / (2 * 0.6**2),
        eta=6.0,
        lam=1e-6,
        parsimony=parsimony,
        batch_size=32,
        loss="log_loss",
        random_state=0,
    )
    stream = onkel.streams.generators.mixture(6144, seed=0)
    curve = onkel.evaluate.progressive(model, stream, classes=range(5), every=192)
    left.plot(curve["rows"], curve["n_support"], label=f"K = {parsimony:g}: {curve.last.accuracy:.1%} right")
left.set(xlabel="rows", ylabel="points in the dictionary", title="The dictionary finds its size")
left.legend(frameon=False)

X, y = next(onkel.streams.generators.mixture(1000, seed=1, chunk_rows=1000))
onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X, y, ax=right)
right.set_title(f"Five classes with {model.n_support_} points (K = {parsimony:g})")
right.legend(loc="upper right", fontsize="small", markerscale=2)
