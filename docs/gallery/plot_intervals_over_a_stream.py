"""
Intervals over a stream
=======================

With `coverage=(0.9,)` a regressor keeps account of its intervals: each row is predicted before it is learned from, and
when too many targets are missed the intervals become wider, whatever the reason. Here the noise becomes four times as
large after 3,000 rows, and the curve moves up after 4,000.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
n = 6000
rows = np.arange(n)
phase = 2 * np.pi * rows / 200
X = np.column_stack([np.sin(phase), np.cos(phase)])
y = np.sin(phase) + (rows >= 4000) + np.where(rows < 3000, 0.1, 0.4) * random.normal(size=n)

model = onkel.NewtonRegressor(budget=40, gamma=1.0, relevances=None, coverage=(0.9,), random_state=0)
intervals = np.full((n, 2), np.nan)
for first in range(0, n, 20):
    chunk = slice(first, first + 20)
    if first:
        intervals[chunk] = model.predict_interval(X[chunk], coverage=0.9)
    model.partial_fit(X[chunk], y[chunk])

shown = slice(2700, 4400)
low, high = intervals[shown].T
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
label = "90 % interval, before the target was seen"
ax.fill_between(rows[shown], low, high, color="#56b4e9", alpha=0.5, linewidth=0, label=label)
inside = (low <= y[shown]) & (y[shown] <= high)
ax.scatter(rows[shown][inside], y[shown][inside], s=3, color="0.25", linewidths=0, label="target inside")
ax.scatter(rows[shown][~inside], y[shown][~inside], s=8, color="#d55e00", linewidths=0, label="target outside")
title = "The noise grows after 3,000 rows, the curve moves after 4,000"
ax.set(xlabel="row", ylabel="target", ylim=(-3, 4), title=title)
ax.legend(frameon=False, loc="upper left", fontsize="small")

# %%
# What was covered, over the last 500 rows:

hit = np.where(np.isnan(intervals[:, 0]), np.nan, (intervals[:, 0] <= y) & (y <= intervals[:, 1]))
covered = np.convolve(hit[20:], np.ones(500) / 500, mode="valid")
figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
ax.plot(rows[519:], covered)
ax.axhline(0.9, color="0.4", linewidth=0.8)
ax.set(
    xlabel="row", ylabel="covered of 500 rows", ylim=(0.8, 1), title=f"{np.nanmean(hit):.1%} of all rows were covered"
)
