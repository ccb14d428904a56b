"""The C++ tests, apart from Python, at every instruction set of this machine; `make sanitize` adds the sanitizers."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# cmake may be the one that pip put beside this interpreter
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
missing = [program for program in ("cmake", "g++") if shutil.which(program, path=PATH) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {' and '.join(missing)}")

CMAKE = shutil.which("cmake", path=PATH)
BUILDS = {"release": ""}
if "ONKEL_SANITIZE" in os.environ:  # minutes of compiling
    # checks as calls, not inline: the unrolled tile routines would take the compiler many minutes otherwise
    BUILDS["sanitized"] = (
        "-fsanitize=address,undefined -fno-sanitize-recover=all --param asan-instrumentation-with-call-threshold=0"
    )


@pytest.fixture(scope="module", params=BUILDS)
def build(request, tmp_path_factory):
    build = tmp_path_factory.mktemp(request.param)
    flags = BUILDS[request.param]
    configure = [CMAKE, "-S", ROOT, "-B", build, "-DONKEL_PYTHON=OFF", "-DONKEL_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}"]
    for command in (configure, [CMAKE, "--build", build, "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


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
    done = subprocess.run([build / "test_isa"], capture_output=True, text=True, env=os.environ | {"ONKEL_ISA": level})
    assert done.returncode == 0, done.stdout + done.stderr


def test_libsvm(build):
    done = subprocess.run([build / "test_libsvm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
