"""A model of 64 points as a C header, compiled for size: bytes of code and constants, and what one prediction costs.

Instructions are those that callgrind counts (left out without valgrind), the C library's exponentials included; cycles
are those of the processor's time stamp counter (x86 only), the median of many predictions one after the other.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import onkel

POINTS, FEATURES = 64, (4, 16, 64)
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
#ifdef CYCLES
#include <x86intrin.h>
static int by_size(const void *a, const void *b) {
  unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;
  return (x > y) - (x < y);
}
#endif
volatile REAL seen;
int main(int argc, char **argv) {
  int i, n = argc > 1 ? atoi(argv[1]) : 0;
  static REAL x[MODEL_N_FEATURES], s[MODEL_N_SCORES];
#ifdef CYCLES
  static unsigned long long took[20001];
  unsigned int core;
  for (i = 0; i < 20001; ++i) {
    unsigned long long begin = __rdtscp(&core);
    x[0] = (REAL)(i % 7);
    model_scores(x, s);
    seen = s[0];
    took[i] = __rdtscp(&core) - begin;
  }
  qsort(took, 20001, sizeof *took, by_size);
  printf("%llu\\n", took[10000]);
#endif
  for (i = 0; i < n; ++i) {
    x[0] = (REAL)(i % 7);
    model_scores(x, s);
    seen = s[0];
  }
  return 0;
}
"""
OBJECT = '#include "model.h"\nint predict(const REAL *x) { return model_predict(x); }\n'


def model_of(n_features: int, dtype: str) -> onkel.StreamPipeline:
    X = np.random.default_rng(0).normal(size=(2000, n_features)) * 10
    learner = onkel.NewtonClassifier(budget=POINTS, gamma=0.5 / n_features, lam=1.0, relevances=None, forget=1)
    model = onkel.StreamPipeline(onkel.StreamStandardScaler(), learner.set_params(random_state=0))
    return model.fit(X.astype(dtype), X[:, 0] * X[:, 1] > 0)


def measured(n_features: int, dtype: str, folder: Path) -> str:
    header = onkel.export.to_c(model_of(n_features, dtype))
    (folder / "model.h").write_text(header)
    (folder / "main.c").write_text(PROGRAM)
    (folder / "object.c").write_text(OBJECT)
    gcc = ["gcc", "-std=gnu99", "-Os", f"-DREAL={'double' if dtype == 'float64' else 'float'}"]

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    run(*gcc, "-c", "object.c", "-o", "object.o")
    sections = {name: int(size) for name, size in re.findall(r"^(\.\S+) +(\d+)", run("size", "-A", "object.o"), re.M)}
    code = sections[".text"]
    constants = sum(size for name, size in sections.items() if name.startswith((".rodata", ".data")))
    instructions = cycles = "-"
    run(*gcc, "main.c", "-o", "main", "-lm")
    if shutil.which("valgrind"):
        counts = []
        for times in (1000, 2000):
            said = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "./main", str(times))
            counts.append(int(re.search(r"Collected : (\d+)", said)[1]))  # type: ignore[index]
        instructions = f"{(counts[1] - counts[0]) // 1000:,}"
    if platform.machine() == "x86_64":
        run(*gcc, "-DCYCLES", "main.c", "-o", "cycles", "-lm")
        cycles = f"{int(run('./cycles')):,}"
    cells = [n_features, dtype, f"{len(header):,}", f"{code:,}", f"{constants:,}", instructions, cycles]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    print("| features | type | source | code | constants | instructions | cycles |\n|---|---|---|---|---|---|---|")
    for n_features in FEATURES:
        for dtype in ("float32", "float64"):
            with tempfile.TemporaryDirectory() as folder:
                print(measured(n_features, dtype, Path(folder)), flush=True)
