"""A River user swaps one line: the scaler stays, the classifier is Newton on a budget."""

from river import datasets, evaluate, metrics, preprocessing

from onkel.river import NewtonClassifier

model = preprocessing.StandardScaler() | NewtonClassifier(budget=200, seed=0)
both = metrics.Accuracy() + metrics.LogLoss()
print(evaluate.progressive_val_score(datasets.Phishing(), model, both))
