"""The C++ tests, apart from Python, at every instruction set of this machine; `make sanitize` adds the sanitizers.

The fuzzers go through the corpus that is kept (tests/corpus) and then through ONKEL_FUZZ_RUNS changes of it, the same
from the same ONKEL_FUZZ_SEED; `make fuzz` lets libFuzzer drive them instead (see scripts/fuzz).
"""

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from native_build import ROOT, built, missing_programs
from native_configs import write_configs

pytestmark = pytest.mark.skipif(bool(missing_programs()), reason=f"needs {' and '.join(missing_programs())}")
# the sanitizers take minutes of compiling
SANITIZED = ["address", "thread"] if "ONKEL_SANITIZE" in os.environ else []
BUILDS = SANITIZED or (["coverage"] if "ONKEL_COVERAGE" in os.environ else ["release"])


@pytest.fixture(scope="module", params=BUILDS)
def program(request):
    """What compiles a program and returns its path."""
    return lambda name: built(name, request.param) / name


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    path = tmp_path_factory.mktemp("native") / "configs.txt"
    write_configs(path)
    return path


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


V3 = {"avx2", "bmi2", "fma", "movbe"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def processor_flags():
    facts = Path("/proc/cpuinfo")
    return set(facts.read_text().split()) if facts.exists() else set()


def is_arm():
    return platform.machine() in ("aarch64", "arm64")


def levels():
    """The instruction sets of this kind of machine, as ONKEL_ISA names them; those that this one lacks are skipped."""
    if is_arm():
        return ["neon"]
    flags = processor_flags()
    return ["baseline", if_there("v3", flags >= V3), if_there("v4", flags >= V4)]


def default_level():
    """The level that feature bits decide: AVX-512 only where VBMI2 says that it does not slow the clock down."""
    flags = processor_flags()
    if is_arm():
        return "neon"
    if flags >= V4 | {"avx512_vbmi2"}:
        return "x86-64-v4"
    return "x86-64-v3" if flags >= V3 else "baseline"


def if_there(level, is_there):
    reason = f"this machine lacks the instruction set {level}"  # .ci/run knows this sentence
    return pytest.param(level, marks=pytest.mark.skipif(not is_there, reason=reason))


@pytest.mark.parametrize("level", levels())
def test_isa(program, level):
    said = run(program("test_isa"), ONKEL_ISA=level)
    assert re.match(rf"level (x86-64-)?{level}\n", said)
    assert re.search(r"^[1-9]\d* passed, 0 failed$", said, re.MULTILINE)


def test_the_level_is_decided_by_feature_bits(program):
    assert run(program("test_isa"), ONKEL_ISA="").startswith(f"level {default_level()}\n")


def test_every_learner_alone(program, configs):
    assert "learners" in run(program("test_learner"), configs)


@pytest.mark.parametrize("subject", ["libsvm", "learner"])
def test_fuzz(program, configs, subject, tmp_path):
    runs, seed = os.environ.get("ONKEL_FUZZ_RUNS", "2000"), os.environ.get("ONKEL_FUZZ_SEED", "1")
    fuzzer, corpus, found = program(f"fuzz_{subject}"), ROOT / "tests" / "corpus" / subject, tmp_path / "found"
    said = run(fuzzer, corpus, runs, seed, found, ONKEL_CONFIGS=str(configs))
    n_files = len(list(corpus.iterdir()))
    assert said == f"{n_files} files, {n_files + int(runs)} runs\n"
