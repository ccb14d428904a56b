"""The time to learn whole sets, beside a tuned SVC on the same rows; see svc_bench.py."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.svm import SVC

import newton_data
from figures import Figure, main
from svc_bench import RIVALS, SETS, compared

GOALS = {"forget=1, relevances=None": 20.0, "the default": 12.0}


def figures() -> Iterator[Figure]:
    for name in SETS:
        train, test = newton_data.split(name)
        svc = SVC(cache_size=500, **RIVALS[name]["SVC"])
        yield from compared(f"{name}, {len(train[1]):,} rows", svc, train, test, GOALS)


if __name__ == "__main__":
    main(figures)
