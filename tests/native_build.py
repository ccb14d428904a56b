"""Compile the C++ tests: `python tests/native_build.py`. The folders stay: a change compiles only what it touches."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# cmake and ninja may be those that pip put beside this interpreter
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# checks as calls, not inline: the unrolled tile routines would take the compiler many minutes otherwise
ADDRESS = "-fsanitize=address,undefined -fno-sanitize-recover=all --param asan-instrumentation-with-call-threshold=0"
FLAGS = {"release": "", "address": ADDRESS, "thread": "-fsanitize=thread"}


def missing_programs() -> list[str]:
    """Return what this machine lacks to compile them."""
    return [program for program in ("cmake", "g++") if shutil.which(program, path=PATH) is None]


def built(kind: str, *, quiet: bool = False) -> Path:
    """Compile the tests with the flags of this kind, one process at a time, and return the folder they are in."""
    folder = ROOT / "build" / f"native-tests-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=PATH) else []
    options = ["-DONKEL_PYTHON=OFF", "-DONKEL_TESTS=ON", f"-DCMAKE_CXX_FLAGS={FLAGS[kind]}"]
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), *generator, *options]
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run(configure, quiet=True)
        _run(["cmake", "--build", str(folder), "-j2"], quiet=quiet)
    return folder


def _run(command: list[str], *, quiet: bool) -> None:
    program = shutil.which(command[0], path=PATH)
    assert program is not None, command
    done = subprocess.run(
        [program, *command[1:]], env=os.environ | {"PATH": PATH}, capture_output=quiet, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{done.stdout or ''}{done.stderr or ''}{' '.join(command)} failed")


if __name__ == "__main__":
    if missing := missing_programs():
        print(f"The C++ tests are left out: they need {' and '.join(missing)}.")
    else:
        built("release")
