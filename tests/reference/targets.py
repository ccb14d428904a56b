"""Means of the target by the values of a category, one row at a time, in exact fractions but for the last division."""

from collections import defaultdict

import numpy as np

PRIORS = (10, 1, 3, 30, 100)


def encoded(words, targets):
    """Return each row's shrunk means by the rows before it, and a function for later words."""
    targets = np.asarray(targets, float).reshape(len(words), -1)
    rows = defaultdict(list)
    seen, errors, made = [], np.zeros(len(PRIORS)), []

    def of(word, prior):
        mean = np.mean(seen, axis=0)
        own = rows[word]
        return (np.sum(own, axis=0) - len(own) * mean) / (len(own) + prior) if own else np.zeros(targets.shape[1])

    def code(word):
        unit = np.sqrt(np.var(seen, axis=0).sum()) if seen else 0
        return of(word, PRIORS[int(errors.argmin())]) / unit if unit > 0 else np.zeros(targets.shape[1])

    for word, target in zip(words, targets, strict=True):
        made.append(code(word))
        if rows[word]:
            errors += [((target - np.mean(seen, axis=0) - of(word, prior)) ** 2).sum() for prior in PRIORS]
        rows[word].append(target)
        seen.append(target)
    return np.array(made), code
