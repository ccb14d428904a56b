"""How sure a regression is, and whether that is true of rows to come."""

import numpy as np

import onkel

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(6000, 2))
y = np.sin(X[:, 0]) * X[:, 1] + rng.normal(0, 0.3, 6000)
model = onkel.NewtonRegressor(budget=100, random_state=0).fit(X[:4000], y[:4000])
mean, deviation = model.predict(X[4000:], return_std=True)
within = np.abs(y[4000:] - mean) < 1.645 * deviation
print(
    f"R² {model.score(X[4000:], y[4000:]):.2f}, noise {deviation.mean():.2f}, {within.mean():.1%} within 90 % intervals"
)
