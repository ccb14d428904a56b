"""Compile programs of tests/native when a test asks for them. Folders stay: a change compiles what it touches."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
# cmake and ninja may be those that pip put beside this interpreter
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# checks as calls, not inline: the unrolled tile routines would take the compiler many minutes otherwise
ADDRESS = "-fsanitize=address,undefined -fno-sanitize-recover=all --param asan-instrumentation-with-call-threshold=0"
FLAGS = {"release": "", "address": ADDRESS, "thread": "-fsanitize=thread", "coverage": "--coverage"}

# What is printed within is not captured; tests/conftest.py puts pytest's own here.
uncaptured: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext


def missing_programs() -> list[str]:
    """Return what this machine lacks to compile them."""
    return [program for program in ("cmake", "ninja", "g++") if shutil.which(program, path=PATH) is None]


@cache
def built(target: str, kind: str = "release") -> Path:
    """Compile a target of CMakeLists.txt with the flags of this kind, one process at a time, and return its folder."""
    folder = ROOT / "build" / f"native-tests-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        core = installed_core() if kind == "release" else None
        if core is not None:
            _make(core.parent, "onkel_core")
        options = ["-DONKEL_PYTHON=OFF", "-DONKEL_TESTS=ON", f"-DCMAKE_CXX_FLAGS={FLAGS[kind]}"]
        if kind != "release":  # what the core asserts of its caches is checked where the sanitizers are
            options.append("-DCMAKE_CXX_FLAGS_RELEASE=-O1")
        _configure(folder, *options, f"-DONKEL_CORE={core or ''}")
        _make(folder, target)
    return folder


def installed_core() -> Path | None:
    """Return the core that this environment's package was linked from: the C++ tests need not compile it again."""
    for core in ROOT.glob("build/cp*/libonkel_core.a"):
        if f"={Path(sys.executable).parent}{os.sep}python" in core.with_name("CMakeCache.txt").read_text():
            return core
    return None


def _configure(folder: Path, *options: str) -> None:
    words = [_found("cmake"), "-S", ROOT, "-B", folder, "-G", "Ninja", *options]
    done = subprocess.run(words, env=os.environ | {"PATH": PATH}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{done.stdout}{done.stderr}cmake {folder.name} failed")


def _make(folder: Path, target: str) -> None:
    """Bring a target up to date, and say so if something is to be compiled."""
    words, said = [_found("ninja"), "-C", folder, target], []
    environment = os.environ | {"PATH": PATH}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ninja:
        assert ninja.stdout is not None
        for line in ninja.stdout:
            if "Building" in line and not any("Building" in before for before in said):
                with uncaptured():
                    print(f"Compiling {target} in build/{folder.name} ...", file=sys.stderr, flush=True)
            said.append(line)
    if ninja.returncode:
        raise RuntimeError(f"{''.join(said)}ninja {target} failed")


def _found(program: str) -> str:
    path = shutil.which(program, path=PATH)
    assert path is not None, program
    return path
