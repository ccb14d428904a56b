"""The C++ tests, apart from Python, at every instruction set of this machine; `make sanitize` adds the sanitizers.

The fuzzers go through the corpus that is kept (tests/corpus) and then through ONKEL_FUZZ_RUNS changes of it, the same
from the same ONKEL_FUZZ_SEED; `make fuzz` lets libFuzzer drive them instead (see scripts/fuzz).
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from native_configs import write_configs

ROOT = Path(__file__).parents[1]
# cmake may be the one that pip put beside this interpreter
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
missing = [program for program in ("cmake", "g++") if shutil.which(program, path=PATH) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {' and '.join(missing)}")

CMAKE = shutil.which("cmake", path=PATH)
# checks as calls, not inline: the unrolled tile routines would take the compiler many minutes otherwise
ADDRESS = "-fsanitize=address,undefined -fno-sanitize-recover=all --param asan-instrumentation-with-call-threshold=0"
BUILDS = {"release": ""}
if "ONKEL_SANITIZE" in os.environ:  # minutes of compiling
    BUILDS = {"address": ADDRESS, "thread": "-fsanitize=thread"}


@pytest.fixture(scope="module", params=BUILDS)
def build(request, tmp_path_factory):
    build = tmp_path_factory.mktemp(request.param)
    flags = BUILDS[request.param]
    configure = [CMAKE, "-S", ROOT, "-B", build, "-DONKEL_PYTHON=OFF", "-DONKEL_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}"]
    for command in (configure, [CMAKE, "--build", build, "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    write_configs(build / "configs.txt")
    return build


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def levels():
    """The instruction sets of this machine, as ONKEL_ISA names them."""
    if platform.machine() in ("aarch64", "arm64"):
        return ["neon"]
    facts = Path("/proc/cpuinfo")
    flags = set(facts.read_text().split()) if facts.exists() else set()
    v3 = {"avx2", "bmi2", "fma", "movbe"} <= flags
    v4 = v3 and {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags
    return ["baseline"] + ["v3"] * v3 + ["v4"] * v4


@pytest.mark.parametrize("level", levels())
def test_isa(build, level):
    said = run(build / "test_isa", ONKEL_ISA=level)
    assert re.match(rf"level (x86-64-)?{level}\n", said)
    assert re.search(r"^[1-9]\d* passed, 0 failed$", said, re.MULTILINE)


def test_every_learner_alone(build):
    assert "learners" in run(build / "test_learner", build / "configs.txt")


@pytest.mark.parametrize("subject", ["libsvm", "learner"])
def test_fuzz(build, subject):
    runs, seed = os.environ.get("ONKEL_FUZZ_RUNS", "2000"), os.environ.get("ONKEL_FUZZ_SEED", "1")
    fuzzer, corpus, found = build / f"fuzz_{subject}", ROOT / "tests" / "corpus" / subject, build / f"found-{subject}"
    said = run(fuzzer, corpus, runs, seed, found, ONKEL_CONFIGS=str(build / "configs.txt"))
    n_files = len(list(corpus.iterdir()))
    assert said == f"{n_files} files, {n_files + int(runs)} runs\n"
