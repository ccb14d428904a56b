"""What docs/design.md says of files, functions and members is there, and its walks go as they say."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import onkel
from looping import loop

ROOT = Path(__file__).parents[1]
WHOLE = (ROOT / "docs" / "design.md").read_text("utf-8")
PAGE = re.sub(r"^```.*?^```$", "", WHOLE, flags=re.DOTALL | re.MULTILINE)
PYTHON = sorted([*ROOT.glob("src/onkel/**/*.py"), *ROOT.glob("src/onkel_papers/**/*.py")])
NATIVE = sorted(ROOT.glob("native/**/*.?pp"))
# Where a path of the page may begin.
FOLDERS = [ROOT]
for house in ("src/onkel", "src/onkel_papers", "native"):
    FOLDERS += [ROOT / house, *(path for path in (ROOT / house).glob("*/") if path.name != "__pycache__")]
NOT_OURS = {"std::from_chars"}


def spans(text=PAGE):
    return sorted(set(re.findall(r"`([^`\n]+)`", text)))


@cache
def words():
    """Every name that the sources have."""
    return set(re.findall(r"\w+", "".join(path.read_text("utf-8") for path in [*PYTHON, *NATIVE])))


@cache
def classes():
    """Of each class of Python: the names that it defines, and its bases."""
    found = {}
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                own = {name for each in node.body for name in defined_by(each)}
                found[node.name] = own, [ast.unparse(base).split(".")[-1] for base in node.bases]
    return found


def defined_by(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def has(cls, member):
    own, bases = classes().get(cls, (set(), []))
    return member in own or any(has(base, member) for base in bases)


@cache
def body_of(cls):
    """The text between the braces of a class of the core."""
    for path in NATIVE:
        text = path.read_text("utf-8")
        if begin := re.search(rf"^( *)(?:class|struct) {cls}\b[^;{{]*{{", text, re.MULTILINE):
            return text[begin.end() : text.index(f"\n{begin[1]}}};", begin.end())]
    return ""


def is_there(name):
    """Whether a file, a method or any other name is in the sources."""
    if re.fullmatch(r"[\w./]*\.(py|cpp|hpp|tsv)|[\w./]+/", name):
        return any((folder / name).exists() for folder in FOLDERS)
    if found := re.fullmatch(r"(\w+)::(\w+)", name):
        return re.search(rf"\b{found[2]}\b", body_of(found[1])) is not None
    if found := re.fullmatch(r"([A-Z]\w*)\.(\w+)(?:\(\))?", name):
        return has(*found.groups())
    if found := re.fullmatch(r"(onkel(?:_papers)?(?:\.\w+)*)", name):
        return all(word in words() or any(path.stem == word for path in PYTHON) for word in name.split("."))
    if found := re.fullmatch(r"(\w+)(?:\(.*\))?", name):
        return found[1] in words()
    return True  # a formula, a command, a pattern


def test_every_name_of_the_design_is_there():
    assert [name for name in spans() if name not in NOT_OURS and not is_there(name)] == []


def test_every_page_names_files_that_are_there():
    missing = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if page.name != "CHANGELOG.md":
            paths = re.findall(
                r"`((?:native|src|tests|scripts|benchmarks|examples)/[\w./-]*)`", page.read_text("utf-8")
            )
            missing += [f"{page.name}: {path}" for path in paths if not (ROOT / path).exists()]
    assert missing == []


def places():
    """Yield each function that the page says the file of."""
    for name, path in re.findall(r"`([^`\n]+)`\s\(`([\w/.]+\.(?:py|cpp|hpp))`", PAGE):
        yield pytest.param(name, path, id=f"{name} in {path}")


@loop
@pytest.mark.parametrize(("name", "path"), places())
def test_a_function_is_in_the_file_that_is_said_to_have_it(name, path):
    file = next(folder / path for folder in FOLDERS if (folder / path).exists())
    text, word = file.read_text("utf-8"), re.findall(r"\w+", name)[-1]
    definition = rf"^ *(?:async )?(?:def|class) {word}\b" if file.suffix == ".py" else rf"\b{word}\b"
    assert re.search(definition, text, re.MULTILINE)


def test_the_code_that_is_shown_is_that_of_the_sources():
    shown = [
        line
        for block in re.findall(r"^```py\n(.*?)^```$", WHOLE, re.DOTALL | re.MULTILINE)
        for line in block.split("\n")
    ]
    lines = {line.rstrip() for path in PYTHON for line in path.read_text("utf-8").splitlines()}
    plain = [re.sub(r"  # .*| \.\.\.$", "", line) for line in shown]
    assert len(plain) > 10
    assert [line for line in plain if line and line not in lines] == []


def part(headline):
    return PAGE.partition(f"\n## {headline}\n")[2].partition("\n## ")[0]


def test_the_page_says_who_writes_each_member_of_a_posterior():
    text = re.sub(r"//.*", "", body_of("Posterior").partition("\n private:\n")[2])
    while "{" in text:
        text = re.sub(r"{[^{}]*}", "", text)  # what functions and structures have of their own
    members = set(re.findall(r"\b([a-z]\w*_)(?=[,;]| =)", text))
    lines = re.findall(r"^\| ([^|]*) \| [^|]* \|$", part("A row of Newton's, walked"), re.MULTILINE)
    assert {name for cell in lines for name in re.findall(r"`(\w+_)`", cell)} == members


ROWS, LABELS = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2


def learn(tmp_path):
    onkel.PerceptronClassifier().partial_fit(ROWS, LABELS, [0, 1])


def learn_with_a_choice(tmp_path):
    onkel.NewtonClassifier().partial_fit(ROWS, LABELS, [0, 1])


def save(tmp_path):
    onkel.save(onkel.PerceptronClassifier().fit(ROWS, LABELS), tmp_path / "model.onkel")


def compress(tmp_path):
    onkel.compress(onkel.PerceptronClassifier().fit(ROWS, LABELS), n_support=3)


def predict(tmp_path):
    onkel.PerceptronClassifier().fit(ROWS, LABELS).predict(ROWS)


@pytest.mark.parametrize(
    ("walk", "work", "steps"),
    [
        ("One row that is learned from.", learn, ["partial_fit", "_go_on", "Learner.learn_rows"]),
        (
            "One row that is learned from.",
            learn_with_a_choice,
            ["partial_fit", "_go_on", "learn_prepared", "StreamChoice"],
        ),
        ("One save.", save, ["onkel.save", "write", "Writer.tree", "Learner._saved_fields", "container.write"]),
        (
            "One compress.",
            compress,
            [
                "onkel.compress",
                "snapshot",
                "Learner.expansion",
                "smaller",
                "Learner.set_expansion",
                "Learner.compress",
                "expansion",
                "with_function",
            ],
        ),
        ("One served request.", predict, ["predict", "Learner.score_rows"]),
    ],
)
def test_walks_go_as_the_design_says(walk, work, steps, tmp_path):
    text, called = part("Four walks").partition(f"**{walk}**")[2].partition("\n**")[0], []

    def note(frame, event, _):
        if event == "call" and "onkel" in frame.f_code.co_filename:
            called.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work(tmp_path)
    finally:
        sys.setprofile(before)
    told, done = 0, iter(called)
    for step in steps:
        told = text.index(f"`{step}`", told) + 1
        names = step.removeprefix("onkel.").split(".")
        assert any(set(names) <= set(name.split(".")) for name in done), (
            f"{step} is not called after what stands before it"
        )
