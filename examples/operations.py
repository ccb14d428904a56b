"""Operations: a service learns, is killed, and goes on from its last answer. Usage: operations.py PORT."""

import subprocess
import sys

import numpy as np

from onkel.serve import Client

words = f"onkel serve --learner newton --classes no,yes --dir state --port {sys.argv[1]}".split()
X = np.random.default_rng(0).normal(size=(1000, 2))
y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
for half in (slice(0, 500), slice(500, 1000)):
    service = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL)
    with Client(f"http://127.0.0.1:{sys.argv[1]}") as client:  # which waits until the service answers
        client.learn(X[half], y[half])
        print(client.metadata()["parameters"]["rows_learned"], "rows, of (1, 1)", client.predict([[1.0, 1.0]])[0])
    service.kill()
    service.wait()
