"""
Regression with uncertainty
===========================

`NewtonRegressor.predict(X, return_std=True)` returns the standard deviation of the target: that of the function and
that of the noise, which is measured on the stream. Here it is checked: of 10,000 new rows as many should lie within
one and two standard deviations as of a normal distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel


def rows(n, seed):
    """A curve with noise, and a gap in the middle."""
    random = np.random.default_rng(seed)
    x = random.uniform(0, 7, size=n)
    x += np.where(x > 3, 3, 0)
    return x[:, None], np.sin(1.5 * x) + 0.05 * x**1.5 + 0.2 * random.normal(size=n)


X, y = rows(600, seed=0)
model = onkel.NewtonRegressor(budget=60, random_state=0).fit(X, y)

grid = np.linspace(-1, 11, 400)[:, None]
mean, std = model.predict(grid, return_std=True)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.scatter(X[:, 0], y, s=4, color="0.5", linewidths=0, label="rows learned from")
ax.plot(grid[:, 0], mean, color="#0072b2", label="prediction")
for width, alpha in ((1, 0.3), (2, 0.15)):
    label = f"within {width} standard deviation{'s' if width > 1 else ''}"
    band = mean - width * std, mean + width * std
    ax.fill_between(grid[:, 0], *band, color="#0072b2", alpha=alpha, linewidth=0, label=label)
ax.set(xlabel="x", ylabel="y", title=f"{model.t_} rows, {model.n_support_} support vectors")
ax.legend(frameon=False, loc="upper left")

# %%
# How often the target was within so many standard deviations:

X_new, y_new = rows(10_000, seed=1)
mean, std = model.predict(X_new, return_std=True)
for width, wanted in ((1, 0.683), (2, 0.954)):
    print(f"within {width}: {np.mean(abs(y_new - mean) < width * std):.1%} (normal distribution: {wanted:.1%})")
