"""An SVC user keeps the interface, and learns on when new rows arrive."""

from sklearn.datasets import make_moons
from sklearn.svm import SVC

import onkel

X, y = make_moons(3000, noise=0.2, random_state=0)
svc = SVC().fit(X[:2000], y[:2000])
model = onkel.NewtonClassifier(random_state=0).fit(X[:2000], y[:2000])
print(f"SVC {svc.score(X[2000:], y[2000:]):.3f} with {svc.n_support_.sum()} support vectors")
print(f"Newton {model.score(X[2000:], y[2000:]):.3f} with {model.n_support_} support vectors")
model.partial_fit(X[2000:], y[2000:])
print(f"{model.t_} rows; log probabilities {model.predict_log_proba(X[:1]).round(1).tolist()}")
