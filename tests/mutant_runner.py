"""How `python tests/mutants.py` breaks the promises: many at once, and none again that nothing has touched.

Each worker has a workshop under build/mutants: a copy of the project, which it alone breaks, and a build directory in
which a mutant of the C++ code compiles no more than the file that it changed; tests/mutant_compiler.py sees to it that
nothing is compiled twice, be it in another workshop. All of it is kept, so that the next run starts where this one
ended. A mutant of the Python code is a file written into the copy, beside the core that is installed. Mutants of one
file follow each other in one workshop.

A mutant that was caught is not run again until itself, its source file, a test file that it names, a module that this
imports or something that all tests share has changed; build/mutants/caught.json holds the hashes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import filecmp
import hashlib
import importlib.util
import itertools
import json
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).parents[1]
STORE = ROOT / "build" / "mutants"
CAUGHT = STORE / "caught.json"
IGNORED = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".*_cache", "_core.*")
SHARED = ("pyproject.toml", "CMakeLists.txt", "tests/conftest.py")


@dataclass(frozen=True)
class Mutant:
    """What is put into the place of a text. It is to survive what does not touch the promise:

    spaces, indentation and line ends may be any, `$word` stands for any name (the same one, where it comes again), and
    the text may have moved to another file since `file` was written down.
    """

    promise: str
    file: str
    old: str
    new: str
    tests: str  # words for pytest
    seconds: ClassVar[float | None] = None  # after which tests that have not ended count as failed

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the old text looks like."""
        names: set[str] = set()

        def expression(word: str) -> str:
            if not word.startswith("$"):
                return r"\s+" if word.isspace() else re.escape(word)
            seen, name = word[1:] in names, word[1:]
            names.add(name)
            return f"(?P={name})" if seen else rf"(?P<{name}>[\w.\[\]]+)"

        return re.compile("".join(map(expression, re.split(r"(\$\w+|\s+)", self.old.strip()))))

    def broken(self, text: str) -> str:
        """Return a source with the new text wherever the old one was."""

        def replaced(match: re.Match[str]) -> str:
            return re.sub(r"\$(\w+)", lambda name: match[name[1]], self.new.strip())

        return self.pattern.sub(replaced, text)

    @cached_property
    def place(self) -> str:
        """The source that has the text: `file`, or the only other one; or nothing."""
        if self._is_in(self.file):
            return self.file
        others = [name for name in sources() if self._is_in(name)]
        return others[0] if len(others) == 1 else ""

    def _is_in(self, name: str) -> bool:
        return (ROOT / name).exists() and self.pattern.search(source(name)) is not None

    @property
    def is_native(self) -> bool:
        return self.place.startswith("native/")

    @property
    def test_files(self) -> list[str]:
        return [f"tests/{word}" for word in shlex.split(self.tests) if word.endswith(".py")]

    def key(self) -> str:
        """A hash of everything that its being caught is taken to depend on."""
        files = {ROOT / name for name in (self.place, *SHARED)}
        files |= with_imports(ROOT / name for name in self.test_files)
        if any(path.stem == "native_build" for path in files):  # the tests that this compiles
            files |= set((ROOT / "tests" / "native").iterdir())
        digest = hashlib.sha256(repr(astuple(self)).encode())
        for path in sorted(filter(Path.exists, files)):
            digest.update(file_hash(path))
        return digest.hexdigest()


@cache
def sources() -> list[str]:
    """Return the names of all files that a mutant may change."""
    found = itertools.chain(*(ROOT.glob(pattern) for pattern in ("native/**/*.?pp", "src/**/*.*", "scripts/*")))
    return sorted(str(path.relative_to(ROOT)) for path in found if path.is_file() and path.suffix != ".pyc")


@cache
def source(name: str) -> str:
    return (ROOT / name).read_text("utf-8", errors="replace")


@cache
def file_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def with_imports(files: Iterable[Path]) -> set[Path]:
    """Return test files, the modules under tests/ that they import, and so on."""
    found: set[Path] = set()
    waiting = [path for path in files if path.exists()]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    return found


@cache
def imported(path: Path) -> list[Path]:
    """Return the modules under tests/ that a file imports itself; of a package's names, those that are modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            here = ".".join(path.parent.relative_to(ROOT / "tests").parts) if node.level else ""
            module = ".".join(filter(None, (here, node.module)))
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    places = [ROOT.joinpath("tests", *name.split(".")) for name in names]
    return [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py") if file.exists()]


# -- programs ----------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    """The run is being interrupted."""


class Programs:
    """The programs that are running, to be ended together, with what they have started."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self, command: Iterable[str | Path], cwd: Path | None = None, seconds: float | None = None, **variables: str
    ) -> tuple[int, str]:
        """Return a command's exit code (it is killed after so many seconds) and what it said; it sees `variables`."""
        with self._lock:
            if self._stopped:
                raise Stopped
            # cmake and ninja may be the ones that pip put beside this interpreter
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                cwd=cwd,
                env={**os.environ, "PATH": path, **variables},
            )
            self._running.add(process)
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        with self._lock:
            self._running.discard(process)
            if self._stopped:
                raise Stopped
        return process.returncode, said

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


# -- workshops ---------------------------------------------------------------------------------------------------------


class Workshop:
    """A copy of the project to break, and the directory in which its core is built."""

    _first_build = threading.Lock()  # others wait for what it compiles

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.project, self._temporary = folder / "project", folder / "tmp"
        self._build = self.project / "build" / "cp"  # where tests/native_build.py finds the core
        self._programs = programs
        copy_changes(ROOT, self.project)

    def write(self, file: str, text: str) -> None:
        path = self.project / file
        path.write_text(text)
        # a compiled module is told from its source by size and second, which two mutants may share
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def build_core(self) -> str:
        """Build the core of this copy and put it into place; return the compiler's complaint, if any."""
        if not (self._build / core_name()).exists():
            with self._first_build:
                complaint = self._compile()
        else:
            complaint = self._compile()
        if not complaint:
            self.use_core(self._build / core_name())
        return complaint

    def _compile(self) -> str:
        launcher = f"{sys.executable};{Path(__file__).with_name('mutant_compiler.py')};{STORE / 'objects'}"
        configure = ["cmake", "-S", self.project, "-B", self._build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
        build = ["cmake", "--build", self._build, "--target", "_core"]
        for command in [build] if (self._build / "build.ninja").exists() else [configure, build]:
            code, said = self._programs.run(command)
            if code:
                errors = [line for line in said.splitlines() if "error" in line.lower()]
                return (errors or said.splitlines() or ["?"])[0]
        return ""

    def use_core(self, core: Path) -> None:
        # a new file: the old one may still be mapped by a program that has been killed
        target = self.project / "src" / "onkel" / core_name()
        target.unlink(missing_ok=True)
        shutil.copy(core, target)

    def tests_fail(self, words: str, seconds: float | None = None) -> bool:
        """Run tests; raise a `ValueError` where it was not a test that failed but pytest."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(words)]
        command.append(f"--basetemp={self._temporary}")
        source = str(self.project / "src")
        code, said = self._programs.run(command, self.project / "tests", seconds, PYTHONPATH=source)
        if code == 5:
            raise ValueError(f"pytest finds no tests for {words}")
        # a crash of the broken core is a way to fail, too
        if 1 < code < 128 and "Fatal Python error" not in said:
            raise ValueError(f"pytest {words}: {(said.strip().splitlines() or ['?'])[-1]}")
        return code != 0


def copy_changes(source: Path, target: Path) -> None:
    """Make a folder a copy of another, leaving files that are the same as they are, so that they need no compiling."""
    target.mkdir(parents=True, exist_ok=True)
    names = {entry.name for entry in os.scandir(source)}
    names -= IGNORED(str(source), list(names))
    here = {entry.name for entry in os.scandir(target)}
    for name in here - names - IGNORED(str(target), list(here)):
        path = target / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in names:
        if (source / name).is_dir():
            copy_changes(source / name, target / name)
        elif not (target / name).exists() or not filecmp.cmp(source / name, target / name, shallow=False):
            shutil.copyfile(source / name, target / name)
            shutil.copymode(source / name, target / name)


def core_name() -> str:
    return f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def installed_core() -> Path | None:
    """The core of this environment, if it is not older than its source."""
    package = importlib.util.find_spec("onkel")
    core = Path(next(iter(package.submodule_search_locations or []), "")) / core_name() if package else None
    if core is None or not core.exists():
        return None
    sources = [ROOT / "CMakeLists.txt", *(ROOT / "native").rglob("*.?pp")]
    return core if all(path.stat().st_mtime <= core.stat().st_mtime for path in sources) else None


# -- breaking ----------------------------------------------------------------------------------------------------------


def unsound(shop: Workshop, core: Path, words: list[str]) -> dict[str, str]:
    """Return what is wrong with tests before anything is broken; their words name the same files."""

    def complaint(words: str) -> str:
        try:
            return f"{words} fails before anything is broken" if shop.tests_fail(words) else ""
        except ValueError as error:
            return str(error)

    shop.use_core(core)
    files = words[0].partition(" -k ")[0]
    choices = [shlex.split(rest)[0] if rest else "" for _, _, rest in (each.partition(" -k ") for each in words)]
    union = shlex.quote(" or ".join(f"({choice})" for choice in choices))
    if not complaint(files if "" in choices else f"{files} -k {union}"):  # all of them at once
        return {}
    return {each: wrong for each in words if (wrong := complaint(each))}


def outcome(shop: Workshop, core: Path, mutant: Mutant) -> str:
    """Break one promise; return what went wrong, or nothing."""
    if not mutant.place:
        return f"its text is not in {mutant.file}, nor in one other file"
    text = source(mutant.place)
    shop.write(mutant.place, mutant.broken(text))
    try:
        if not mutant.is_native:
            shop.use_core(core)
        elif complaint := shop.build_core():
            return f"does not compile: {complaint}"
        return "" if shop.tests_fail(mutant.tests, mutant.seconds) else f"{mutant.tests} passes without it"
    except ValueError as error:
        return str(error)
    finally:
        shop.write(mutant.place, text)


class Run:
    """Mutants at work in several workshops; what `lives` is called, and whether those that were caught are kept."""

    def __init__(
        self, mutants: Sequence[Mutant], n_jobs: int, core: Path, lives: str = "FAILED", remembers: bool = True
    ) -> None:
        self._mutants, self._n_jobs, self._core = mutants, n_jobs, core
        self._lives, self._remembers = lives, remembers
        self._programs = Programs()
        self._shops: queue.SimpleQueue[Workshop] = queue.SimpleQueue()
        self._caught: dict[str, str] = json.loads(CAUGHT.read_text()) if CAUGHT.exists() else {}
        self._done = itertools.count(1)
        self._lock = threading.Lock()
        self.failed = 0

    def __call__(self) -> None:
        keys = {mutant: mutant.key() for mutant in self._mutants}
        left = [mutant for mutant in self._mutants if self._caught.get(mutant.promise) != keys[mutant]]
        if len(left) < len(self._mutants):
            print(f"{len(self._mutants) - len(left)} of {len(self._mutants)} were caught before and are as they were")
        if not left:
            return
        for i in range(min(self._n_jobs, len(left))):
            self._shops.put(Workshop(STORE / str(i), self._programs))
        wrong: dict[str, str] = {}
        print(f"{len(left)} to break; first their tests as they are ...", flush=True)
        for found in self._spread(self._sound, _grouped(left, lambda mutant: tuple(mutant.test_files))):
            wrong |= found
        for words in wrong.values():
            print(words, flush=True)
        groups = _grouped(left, lambda mutant: mutant.place)
        groups.sort(key=lambda group: (group[0].is_native, len(group)), reverse=True)  # the long ones first
        work = [(group, keys, wrong, len(left)) for group in groups]
        for _ in self._spread(lambda shop, task: self._break(shop, *task), work):
            pass

    def _spread(self, work: Callable[[Workshop, Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """Do each task in a workshop that is free."""

        def in_a_shop(task: Any) -> Any:
            shop = self._shops.get()
            try:
                return work(shop, task)
            finally:
                self._shops.put(shop)

        with ThreadPoolExecutor(self._n_jobs) as pool:
            pending: set[Future[Any]] = {pool.submit(in_a_shop, task) for task in tasks}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            except BaseException:
                self._programs.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _keep_caught(self) -> None:
        unfinished = CAUGHT.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self._caught, indent=1, sort_keys=True))
        unfinished.replace(CAUGHT)

    def _sound(self, shop: Workshop, mutants: list[Mutant]) -> dict[str, str]:
        words = list(dict.fromkeys(mutant.tests for mutant in mutants))
        return unsound(shop, self._core, words)

    def _break(
        self, shop: Workshop, mutants: list[Mutant], keys: dict[Mutant, str], unsound: dict[str, str], n: int
    ) -> None:
        for mutant in mutants:
            start = time.monotonic()
            wrong = "its tests fail anyway" if mutant.tests in unsound else outcome(shop, self._core, mutant)
            took = time.monotonic() - start
            with self._lock:
                if wrong:
                    self.failed += 1
                elif self._remembers:
                    self._caught[mutant.promise] = keys[mutant]
                    self._keep_caught()
                verdict = self._lives if wrong else "caught"
                because = f": {wrong}" if wrong else ""
                print(f"[{next(self._done):3}/{n}] {verdict}  {mutant.promise}{because} ({took:.1f} s)", flush=True)


def _grouped(mutants: list[Mutant], key: Callable[[Mutant], Hashable]) -> list[list[Mutant]]:
    groups: dict[Hashable, list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault(key(mutant), []).append(mutant)
    return list(groups.values())


# -- the command -------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.partition("\n")[0]
        raise ValueError(f"git {words[0]} failed (ONKEL_BASE names the commit to compare with): {reason}")
    return done.stdout


def changed(mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants whose source or tests differ from those of a base commit, those that are new there first."""
    base = base_commit()
    files = {*git("diff", "--name-only", base).split(), *git("ls-files", "--others", "--exclude-standard").split()}
    before = set(mutants)
    if "tests/mutants.py" in files:
        before = set()
        if git("ls-tree", base, "tests/mutants.py"):
            for node in ast.walk(ast.parse(git("show", f"{base}:tests/mutants.py"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Mutant":
                    before.add(Mutant(*map(ast.literal_eval, node.args)))
    new = [mutant for mutant in mutants if mutant not in before]
    return new + [m for m in mutants if m in before and files & {m.place, *m.test_files}]


def base_commit() -> str:
    """Return ONKEL_BASE, or where this branch left the main one of the repository it came from, or the last parent.

    A commit without a parent, or one whose parents were not fetched, is compared with nothing: all of it is new.
    """
    if given := os.environ.get("ONKEL_BASE"):
        return given
    for words in (("merge-base", "HEAD", "origin/HEAD"), ("rev-parse", "--verify", "HEAD~1")):
        with contextlib.suppress(ValueError):
            found = git(*words).strip()
            if found != git("rev-parse", "HEAD").strip():
                return found
    return git("hash-object", "-t", "tree", os.devnull).strip()


def some(mutants: list[Mutant], most: int) -> list[Mutant]:
    """Return no more than so many: the first of each file, then the second of each, and so on."""
    in_turn = itertools.zip_longest(*_grouped(mutants, lambda mutant: mutant.place))
    return [mutant for row in in_turn for mutant in row if mutant is not None][:most]


def main(mutants: list[Mutant]) -> int:
    parser = argparse.ArgumentParser(description="Break each promise on purpose and see its test fail.")
    parser.add_argument("words", nargs="*", help="only promises with these words, one after the other")
    parser.add_argument(
        "--changed", action="store_true", help="only where source or tests differ from the commit ONKEL_BASE"
    )
    parser.add_argument("--most", type=int, metavar="N", help="no more than so many, of as many files as possible")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at a time")
    parser.add_argument("--list", action="store_true", help="print the promises that would be broken, and stop")
    options = parser.parse_args()
    missing = [name for name in ("nanobind", "pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"tests/mutants.py needs {missing[0]} in this environment (make test puts it there)")
        return 2
    chosen = [mutant for mutant in mutants if " ".join(options.words) in mutant.promise]
    if options.changed:
        try:
            chosen = changed(chosen)
        except ValueError as error:
            print(error)
            return 2
    if options.most is not None and options.most < len(chosen):
        print(f"{options.most} of {len(chosen)} mutants")
        chosen = some(chosen, options.most)
    if options.list:
        for mutant in chosen:
            print(f"{mutant.place}: {mutant.promise}")
        return 0
    core = installed_core()
    if core is None:
        print("tests/mutants.py needs onkel as it is in this environment (make .venv/installed puts it there)")
        return 2
    start = time.monotonic()
    run = Run(chosen, max(1, options.jobs), core)
    try:
        run()
    except KeyboardInterrupt:
        print("interrupted; what was caught is kept")
        return 130
    print(f"{len(chosen) - run.failed} passed, {run.failed} failed in {time.monotonic() - start:.0f} s")
    return int(run.failed > 0)
