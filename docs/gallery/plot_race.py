"""
The race of the demo, as a film
===============================

`make demo` lets all learners race. Here are five of them with 80 support vectors each, on the mixture of five classes
of the POLK paper: the accuracy over the last 500 rows, each row predicted before it is learned from.
"""

import base64
import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import onkel

window, steps = 500, 40
names = ("Newton", "Projectron", "SPA", "BSGD", "RBP")
learners = {name: getattr(onkel, f"{name}Classifier")(gamma=2.0, budget=80, random_state=0) for name in names}
curves = {}
for name, model in learners.items():
    right = []
    for X, y in onkel.streams.generators.mixture(8000, seed=2, chunk_rows=200):
        scores = model.predict_then_learn(X, y, classes=range(5))
        right += list(scores.argmax(axis=1) == y)
    curves[name] = np.convolve(right, np.ones(window) / window, mode="valid")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
lines = {name: ax.plot([], [], label=name)[0] for name in names}
ax.set(xlim=(0, 8000), ylim=(0.76, 1), xlabel="rows", ylabel=f"accuracy over {window} rows")
ax.legend(frameon=False, loc="lower center", ncols=5, columnspacing=1)
frames = []
for step in range(1, steps + 1):
    seen = step * len(curves["Newton"]) // steps
    for name, line in lines.items():
        line.set_data(window + np.arange(seen), curves[name][:seen])
    ax.set_title(f"{window + seen - 1:,} rows")
    figure.canvas.draw()
    frames.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("P", palette=Image.Palette.ADAPTIVE))

# %%
# The same as a film, which needs no script:


class Film:
    """Frames, as a picture that moves."""

    def _repr_html_(self):
        file = io.BytesIO()
        frames[0].save(file, format="GIF", save_all=True, append_images=frames[1:], duration=[80] * 39 + [3000], loop=0)
        data = base64.b64encode(file.getvalue()).decode()
        return f'<img alt="Five learning curves grow" style="max-width: 100%" src="data:image/gif;base64,{data}">'


Film()
