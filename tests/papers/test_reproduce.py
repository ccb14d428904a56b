"""The papers' experiments, on data sets in miniature: they run, are judged by the rule, and go on after a crash."""

import ast
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

import onkel_papers as reproduce
import small_data
from looping import loop
from onkel.cli import main
from onkel_papers import _data, _lines, klr, lab
from onkel_papers._cells import (
    cell,
    cross_validate,
    held_out,
    learner,
    new_estimator,
    progressive,
    search,
    tune,
    width,
)
from onkel_papers._data import Data
from onkel_papers._protocol import enough_runs
from onkel_papers.claims import judged
from onkel_papers.lab import Lab
from onkel_papers.page import page_of
from onkel_papers.pictures import PICTURED, lines_of_sets, link_to
from onkel_papers.reasons import CAUSES, reason
from onkel_papers.recorded import record, recorded
from onkel_papers.summary import PAPERS, by_paper, failing, pieces
from onkel_papers.tables import UNEXPLAINED, choices, explained, filled_in, markdown, tables
from onkel_papers.verdict import APART, METRICS, VERDICTS, Figure, Findings, Measured, as_found, figures, verdict

CHROMIUM = shutil.which("chromium")
PACKAGE = files("onkel_papers")
TWO = Data(("a9a", "a9a.t"), paper_rows=2 * small_data.ROWS)


@pytest.fixture
def run(small, tmp_path, capsys, monkeypatch):
    """Calls the command; returns its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["onkel", "reproduce", *map(str, words), "--jobs", "1"])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


# -- the papers' figures and the rule


def test_every_figure_of_the_papers_is_there_once():
    n_lines = 0
    for file in (files("onkel_papers") / "papers").iterdir():
        for row in csv.DictReader(file.read_text("utf-8").splitlines(), delimiter="\t"):
            n_lines += 1
            assert row["experiment"] in reproduce.names() and row["metric"] in METRICS, row
            is_claim = row["metric"] in ("claim", "shown claim")
            assert (row["mean"] == "") == is_claim, row
            assert row["note"] if is_claim else float(row["mean"]) >= 0, row
            assert row["sd"] == "" or float(row["sd"]) >= 0, row
    assert n_lines == sum(map(len, figures().values()))
    assert set(figures()) <= set(reproduce.names())
    sizes = {"oskl-table3": 96, "oskl-table4": 48, "oskl-table5": 72, "bogd-table2": 42, "bogd-table3": 216}
    sizes |= {"spa-table2": 198, "spa-table3": 96, "spa-table5": 126, "spa-table6": 108}
    assert {name: len(figures()[name]) for name in sizes} == sizes
    assert figures()["spa-table3"]["cod-rna", "SPA-avg", "accuracy"] == Figure(96.05, 0.09, "")
    assert figures()["oskl-table5"]["adult", "BOGD++ (as OSKL G=10)", "n_support"] == Figure(10556, None, "")


@loop
@pytest.mark.parametrize(
    ("metric", "paper", "ours", "expected"),
    [
        ("accuracy", (80.0, 0.1), 79.5, "within"),  # half a point
        ("accuracy", (80.0, 0.1), 79.49, "worse"),
        ("accuracy", (80.0, 1.0), 78.0, "within"),  # two standard deviations
        ("accuracy", (80.0, 1.0), 77.9, "worse"),
        ("accuracy", (80.0, None), 80.6, "better"),
        ("error", (20.0, 0.1), 20.5, "within"),
        ("error", (20.0, 0.1), 20.6, "worse"),
        ("error", (20.0, 0.1), 19.4, "better"),
        ("n_support", (1000.0, None), 1150.0, "within"),
        ("n_support", (1000.0, None), 1151.0, "worse"),
        ("n_support", (1000.0, None), 849.0, "better"),
        ("sparsity", (90.0, 0.1), 88.5, "within"),  # 11.5 % of the rows, where the paper has 10 %
        ("sparsity", (90.0, 0.1), 88.4, "worse"),
        ("seconds", (1.0, None), 100.0, ""),
        ("claim", (None, None), 1.0, "within"),
        ("claim", (None, None), 0.0, "worse"),
    ],
)
def test_the_rule(metric, paper, ours, expected):
    assert verdict(metric, Figure(*paper, ""), Measured(ours, None, 1)) == expected
    assert verdict(metric, None, Measured(ours, None, 1)) == ""
    assert verdict(metric, Figure(*paper, ""), None) == ("" if metric == "seconds" else "missing")


def test_counts_that_grow_with_the_rows_are_not_judged_on_fewer_rows():
    for metric in ("n_support", "sparsity"):
        assert verdict(metric, Figure(90.0, None, ""), Measured(10.0, None, 1), share=0.99) == ""
        assert verdict(metric, Figure(90.0, None, ""), None, share=0.99) == "missing"
    assert verdict("accuracy", Figure(90.0, None, ""), Measured(10.0, None, 1), share=0.1) == "worse"


def rates(**accuracies):
    """Findings of spa-table2 on two sets with these accuracies, ± 0.1 over 25 runs."""
    found = Findings("spa-table2", sets={name: {"note": "", "paper_rows": 1} for name in ("a9a", "w7a")})
    for who, (first, second) in accuracies.items():
        for data, mean in (("a9a", first), ("w7a", second)):
            found.enter(data, who, "accuracy", Measured(mean, 0.1, 25))
    return found


@pytest.mark.parametrize(
    ("ahead", "said", "ours"),
    [
        ((0.1, 0.1), "holds", "2 of 2"),  # two standard errors of the difference are 0.057
        ((0.1, 0.05), "tie", "1 of 2, 1 open"),
        ((-0.1, 0.05), "does not hold", "0 of 2, 1 open"),
        ((-0.1, 0.1), "does not hold", "1 of 2"),  # more than a half are needed
        ((0.0, 0.1), "does not hold", "1 of 2"),  # what is equal is not better
    ],
)
def test_orders_are_judged_by_their_spread(ahead, said, ours):
    others = ("RBP", "Forgetron", "Projectron", "Projectron++", "BPA-S", "BOGD", "OSKL")
    found = rates(SPA=(80 + ahead[0], 90 + ahead[1]), **dict.fromkeys(others, (80, 90)))
    (claim,) = (claim for claim in judged([found]) if claim.claim == "SPA best")
    assert (claim.said, claim.ours, claim.paper) == (said, ours, "2 of 2")


@pytest.mark.parametrize(("behind", "said"), [(0.4, "holds"), (0.5, "tie"), (0.53, "tie"), (0.6, "does not hold")])
def test_what_is_comparable_may_be_behind_by_its_margin(behind, said):
    found = rates(SPA=(80 - behind, 90), OSKL=(80, 90))
    assert [claim.said for claim in judged([found]) if claim.claim == "SPA like OSKL"] == [said]


def test_a_claim_is_judged_by_both_protocols_and_has_an_effect():
    (claim,) = (claim for claim in judged([rates(SPA=(80.5, 98.5), OSKL=(82, 98))]) if claim.claim == "SPA like OSKL")
    assert (claim.said, claim.said_as_found, claim.effect) == ("does not hold", "", "-0.50 ± 0.02 points")
    found = rates(**{"SPA": (80.5, 98.5), "OSKL": (82, 98), as_found("SPA"): (81.9, 98)})
    assert {(e.learner, e.apart) for e in found.entries} == {("SPA", ""), ("OSKL", ""), ("SPA, as found", "found")}
    assert found.counts("found") == {"better": 1, "within": 1, "worse": 0, "missing": 0}
    (claim,) = (claim for claim in judged([found]) if claim.claim == "SPA like OSKL")
    assert (claim.ours, claim.said, claim.said_as_found) == ("1 of 2", "holds as found", "2 of 2: holds")
    assert not any(line["paper"] == "spa-table2" for line in failing([found]).lines if "OSKL" in line["the paper says"])


def test_counts_are_compared_as_shares():
    found = Findings("bogd-table2", sets={"german": {"note": "", "paper_rows": 1_000}})
    found.enter("german", "Perceptron", "n_support", Measured(300, 8.0, 16))
    found.enter("german", "OGD", "n_support", Measured(600, 0.0, 16))
    (claim,) = (claim for claim in judged([found]) if claim.claim == "OGD, points")
    assert (claim.said, claim.effect) == ("holds", "+50 ± 0 % of the points")


def test_every_claim_is_about_learners_that_there_are():
    found = [recorded(name) for name in reproduce.names()]
    claims = judged(found)
    assert len(claims) > 90 and len({(claim.experiment, claim.claim) for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.said != "missing", claim
        if claim.paper:  # the papers' own figures show what they say
            n_true, _, n_all = claim.paper.partition(" of ")
            assert int(n_true) > int(n_all) / 2, claim


def test_cells_that_are_no_results_are_counted_apart():
    found = Findings("spa-table3", sets={"w7a": {"note": "", "paper_rows": 24_692, "majority": 2.97}})
    for who, accuracy, n_support in (("SPA-avg", 97.9, 3_000), ("SPA-last", 97.03, 3_000), ("BOGD", 90.0, 1_000)):
        found.enter("w7a", who, "accuracy", Measured(accuracy, 0.0, 20))
        found.enter("w7a", who, "n_support", Measured(n_support, 1.0, 20))
    entries = {(e.learner, e.metric): e for e in found.completed().entries}
    assert {place: e.apart for place, e in entries.items() if e.ours} == {
        ("SPA-avg", "accuracy"): "",
        ("SPA-avg", "n_support"): "",
        ("SPA-last", "accuracy"): "trivial",
        ("SPA-last", "n_support"): "repeat",
        ("BOGD", "accuracy"): "",
        ("BOGD", "n_support"): "protocol",
    }
    assert entries["SPA-avg", "n_support"].verdict == "better"
    assert entries["BOGD", "n_support"].verdict == "worse"  # fewer points are not better where accuracy is lost
    assert found.counts("trivial")["within"] == 1 and sum(found.counts().values()) == 3 + 6 + 1


def test_no_default_decides_how_bogd_draws():
    """Its default is BOGD++, and the tables' BOGD is not."""
    calls = [
        node
        for path in Path(reproduce.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and any(isinstance(a, ast.Constant) and a.value == "BOGD" for a in node.args)
    ]
    assert len(calls) >= 6 and all("sampling" in {word.arg for word in call.keywords} for call in calls)


def test_a_learner_is_run_until_its_mean_is_known():
    place = "magic04", "Forgetron (as OSKL G=4)"  # whose tolerance is 2.8 points
    for accuracies, runs in (([70.0, 71.0], 2), ([70.0, 75.0], 15), ([20.0, 90.0], 60)):
        assert enough_runs("oskl-table4", place, [{"accuracy": accuracy} for accuracy in accuracies]) == runs
    assert enough_runs("spa-figure1", place, [{"accuracy": 20.0}, {"accuracy": 90.0}]) == 2


def test_the_pages_are_made_from_the_record():
    docs = Path(__file__).parents[2] / "docs"
    found = [recorded(name) for name in reproduce.names()]
    made = pieces(found)
    marked = []
    for page in (docs / "reproduction.md", *sorted((docs / "reproduction").glob("*.md"))):
        text = page.read_text("utf-8")
        assert filled_in(text, made) == text, "onkel reproduce all --recorded --markdown docs"
        assert UNEXPLAINED not in text
        marked += [name for name in made if f"<!-- {name} -->" in text]
    assert sorted(marked) == sorted(made)  # each piece has its place
    assert len((docs / "reproduction.md").read_text("utf-8").splitlines()) < 200
    headlines = by_paper(found).lines[:-1]
    assert [line["paper"] for line in headlines] == list(PAPERS.values())
    assert all(line["reproduced"] and line["not reproduced, and why"] for line in headlines)
    for name in reproduce.names():
        assert choices(name).lines, name


def test_pages_show_pictures_of_what_was_measured():
    docs = Path(__file__).parents[2] / "docs" / "reproduction"
    for experiment in PICTURED:
        _, sets = lines_of_sets(recorded(experiment))
        assert link_to(experiment) in (docs / f"{experiment.partition('-')[0]}.md").read_text("utf-8")
        said = (docs / f"{experiment}.svg").read_text("utf-8")
        assert all(f">{name}<" in said for name in [*sets, *(who for lines in sets.values() for who in lines)])


def test_two_thirds_of_what_is_worse_has_a_measured_cause():
    causes = []
    for name in reproduce.names():
        for entry in recorded(name).entries:
            if entry.verdict == "worse" and not entry.is_claim and entry.apart not in ("repeat", "found"):
                causes.append(reason(name, entry.data, entry.learner, entry.metric).cause)
    assert set(causes) <= set(CAUSES) and causes.count("unknown") <= len(causes) / 3
    assert len({str(known) for known in map(_unknown, _lines.lines_of("reasons.tsv")) if known}) <= 4


def test_what_is_recorded_is_read_again(tmp_path, monkeypatch):
    one = recorded("bogd-table2", ["german", "spambase"])
    one.spent = 60.0
    record([one], tmp_path)
    german = recorded("bogd-table2", ["german"])
    german.entries = [replace(e, ours=Measured(1.5, 0.5, 7)) for e in german.entries if e.learner == "OGD" and e.ours]
    record([german], tmp_path)
    _lines.lines_of.cache_clear()
    monkeypatch.setattr(_lines, "files", lambda package: _Folder(tmp_path))
    try:
        again = recorded("bogd-table2")
    finally:
        _lines.lines_of.cache_clear()
    assert {e.ours for e in again.entries if e.learner == "OGD" and e.data == "german"} == {Measured(1.5, 0.5, 7)}
    others = [e for e in one.entries if (e.data, e.learner) != ("german", "OGD")]
    assert [e for e in again.entries if (e.data, e.learner) != ("german", "OGD")] == others
    assert again.sets == one.sets


def _unknown(line):
    return line["reason"] if line["cause"] == "unknown" else None


class _Folder:
    """The package's tables, with those of a folder in place of its record."""

    def __init__(self, folder):
        self.folder = folder

    def joinpath(self, *path):
        return self.folder.joinpath(*path[1:]) if path[0] == "measured" else PACKAGE.joinpath(*path)


def test_every_worse_cell_is_explained():
    found = Findings("spa-table2", sets={"SUSY": {"note": ""}, "a9a": {"note": ""}})
    for data, who, accuracy in (
        ("SUSY", "RBP", 50.0),
        ("SUSY", "Forgetron", 50.0),
        ("a9a", "RBP", 1.0),
        ("a9a", "SPA", 99),
    ):
        found.add(data, who, [{"accuracy": accuracy}], "accuracy")
    few, unknown = explained(found)
    assert few["cells"] == "SUSY: RBP · Forgetron (accuracy)" and few["why"].startswith("one row in a hundred")
    assert unknown == {"cells": "a9a: RBP (accuracy)", "why": UNEXPLAINED}
    assert f"- a9a: RBP (accuracy) – {UNEXPLAINED}.\n" in markdown([found])
    found.quick = True
    assert explained(found)[1]["why"].startswith("a quick run has few rows")


def test_every_reason_is_about_a_cell_of_a_paper():
    text = (files("onkel_papers") / "reasons.tsv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        of = [
            experiment
            for experiment in figures()
            if any(map(partial(fnmatchcase, experiment), row["experiment"].split("|")))
        ]
        assert of and row["reason"], row
        names = ("data", "learner", "metric")
        places = [dict(zip(names, place, strict=True)) for experiment in of for place in figures()[experiment]]
        places += [
            {"data": "", "learner": line["claim"], "metric": "claim"}
            for line in _lines.lines_of("claims.tsv")
            if line["experiment"] in of
        ]
        assert any(
            all(any(map(partial(fnmatchcase, place[name]), row[name].split("|"))) for name in names) for place in places
        ), row


# -- cells


def test_permutations_and_splits(small):
    spec = Data(("magic04",), split=0.2, scale=(0.0, 1.0)).spec()
    first, again, other = (_data.shuffled(spec, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.X, again.X) and not np.array_equal(first.X, other.X)
    assert first.X.shape == (120, 6) and first.X_test.shape == (30, 6)
    whole = np.vstack([first.X, first.X_test])
    assert whole.min() == 0 and whole.max() == 1 and len(np.unique(whole, axis=0)) == small_data.ROWS
    joined = _data.shuffled(TWO.spec(), 3)
    assert joined.X.shape == (300, 24) and set(joined.y) == {-1, 1} and len(joined.y_test) == 0
    assert issparse(joined.X) and joined.X.indices.dtype == np.int32  # as LIBSVM wants it
    kept = _data.shuffled(Data(("a9a",), test=("a9a.t",), scale=(-1.0, 1.0)).spec(), 3)
    assert kept.X.min() == -1 and kept.X.max() == 1 and len(kept.y_test) == small_data.ROWS
    assert len(_data.shuffled(TWO.spec(), 3, rows=50).y) == 50
    _, y = small_data.rows("covtype.16%")
    forest = _data.shuffled(Data(("covtype.16%",), positive=2).spec(), 0)
    assert forest.majority == pytest.approx(100 * min(np.mean(y > 0), np.mean(y < 0)))


def test_folds_keep_every_row_apart_once(small):
    spec = Data(("magic04",), split=5).spec()
    folds = [_data.shuffled(spec, seed) for seed in range(6)]
    kept = np.vstack([fold.X_test for fold in folds[:5]])
    assert kept.shape == (small_data.ROWS, 6) and len(np.unique(kept, axis=0)) == small_data.ROWS
    for fold in folds:
        assert len(np.unique(np.vstack([fold.X, fold.X_test]), axis=0)) == small_data.ROWS
    first, sixth = (np.unique(fold.X_test, axis=0) for fold in (folds[0], folds[5]))
    assert np.array_equal(first, sixth) and not np.array_equal(folds[0].X, folds[5].X)


def test_a_curve_is_measured_on_a_random_sample(small, monkeypatch):
    real = _data._joined
    with monkeypatch.context() as patch:
        patch.setattr(_data, "_joined", lambda spec: sorted_by_class(*real(spec)))
        patch.setattr(_data, "_SAMPLE", 60)
        drawn = _data.shuffled(Data(("a9a",), test=("a9a.t",)).spec(), 0)
        X, y = drawn.sample
    assert X.shape[0] == len(y) == 60
    assert np.mean(y > 0) == pytest.approx(np.mean(drawn.y_test > 0), abs=0.15)


def sorted_by_class(X, y, n_train):
    order = np.concatenate([np.arange(n_train), n_train + np.argsort(y[n_train:], kind="stable")])
    return X[order], y[order], n_train


def test_permutations_that_are_run(tmp_path):
    sets = Data(("german.numer",)), Data(("a9a",)), Data(("a9a", "a9a.t"))
    assert [len(Lab(tmp_path).runs(20, data)) for data in sets] == [20, 5, 3]
    assert [len(Lab(tmp_path).runs(20, data, cheap=True)) for data in sets] == [20, 20, 20]
    assert len(Lab(tmp_path).runs(20, Data(("cod-rna.t",)), cheap=True)) == 3
    assert [len(Lab(tmp_path, quick=True).runs(20, data)) for data in sets] == [2, 2, 2]
    assert [len(Lab(tmp_path, runs=7).runs(20, data)) for data in sets] == [7, 7, 7]


def test_searches_find_what_they_should(small):
    spec, split = TWO.spec(), Data(("a9a",), test=("a9a.t",)).spec()
    grid = [learner("OGD", gamma=gamma, eta=eta) for gamma in (1e-9, 5.0) for eta in (1e-9, 0.5)]
    assert search(data=spec, seeds=[0], grid=grid)["best"] == grid[-1]
    assert cross_validate(data=spec, seed=0, grid=grid, folds=3)["best"] == grid[-1]
    refused = [learner("OGD", gamma=5.0, eta=-1.0), grid[-1]]
    assert search(data=spec, seeds=[0], grid=refused) == {
        "best": grid[-1],
        "errors": [None, search(data=spec, seeds=[0], grid=grid)["errors"][-1]],
    }
    with pytest.raises(ValueError, match="no learner of the grid could be run: eta must be"):
        search(data=spec, seeds=[0], grid=refused[:1])
    found = tune(
        data=spec, seed=0, learner=learner("OSKL", gamma=5.0, eta=0.5), parameter="G", wanted=40, low=1.0, high=1e4
    )
    assert abs(found["n_support"] - 40) <= 4
    result = progressive(data=spec, seed=0, learner=learner("OSKL", gamma=5.0, eta=0.5, G=found["G"]))
    assert result["n_support"] == found["n_support"]
    kernels = [learner("Perceptron", pool=i) for i in range(16)]
    errors = [progressive(data=spec, seed=0, learner=one)["error"] for one in kernels]
    assert search(data=spec, seeds=[0], grid=kernels)["best"]["pool"] == np.argmin(errors)
    assert 0.5 < width(data=spec, percentile=20.0)["gamma"] < 5
    tested = held_out(data=split, seed=0, learner=grid[-1])
    assert tested["accuracy"] > 80 and tested["curve"]["held_out"][-1] == pytest.approx(tested["accuracy"] / 100)
    assert tested["sparsity"] == pytest.approx(100 - 100 * tested["n_support"] / small_data.ROWS)


def test_a_cell_is_a_function_of_its_parameters(small):
    described = learner("SPA", gamma=5.0, eta=0.5, beta=3.0)
    runs = [progressive(data=TWO.spec(), seed=seed, learner=described) for seed in (0, 0, 1)]
    for one in runs:
        one.pop("seconds")
        one["curve"].pop("seconds")
    assert runs[0] == runs[1] != runs[2]
    assert new_estimator(learner("BOGD", budget=7, gamma=1.0), 0).budget == 7


# -- the lab


def test_results_are_kept(small, tmp_path, monkeypatch):
    cells = {
        seed: cell(progressive, data=TWO.spec(), seed=seed, learner=learner("Perceptron", gamma=5.0))
        for seed in range(3)
    }
    first = Lab(tmp_path / "results").run(cells)
    kept = sorted((tmp_path / "results").iterdir())
    assert len(kept) == 3 and json.loads(kept[0].read_text())["parameters"]["learner"]["recipe"] == "Perceptron"
    kept[0].write_bytes(kept[0].read_bytes()[:-5])  # as if the disk had lost something
    asked = []
    real = lab._result_of
    monkeypatch.setattr(lab, "_result_of", lambda one: (asked.append(one), real(one))[1])
    again = Lab(tmp_path / "results").run(cells)
    assert len(asked) == 1
    assert [run["error"] for run in again.values()] == [run["error"] for run in first.values()]


def test_what_is_missing_is_said_and_not_kept(small, tmp_path):
    (small / "a9a.t.bz2").unlink()
    lab = Lab(tmp_path / "results")
    result = lab.run({0: cell(progressive, data=TWO.spec(), seed=0, learner=learner("Perceptron", gamma=1.0))})[0]
    assert re.match(r"a9a\.t has no address to be fetched from: put a9a\.t\.bz2 in a folder", result["missing"])
    assert not list((tmp_path / "results").iterdir())
    found = Findings.of("spa-table2", lab, {"a9a": TWO})
    found.add("a9a", "Perceptron", [result], "accuracy")
    (entry,) = found.entries
    assert entry.verdict == "missing" and entry.note == result["missing"]
    assert "missing: a9a.t has no address" in tables(found)[0].heading


def test_a_cell_that_fails_is_named(small, tmp_path):
    bad = cell(progressive, data=TWO.spec(), seed=0, learner=learner("OGD", gamma=1.0, eta=-1.0))
    with pytest.raises(ValueError, match=r"^progressive-OGD-[0-9a-f]{24}\.json: eta must be"):
        Lab(tmp_path).run({0: bad})


def test_what_results_took_is_kept_with_them(small, tmp_path):
    equal = {n: cell(width, data=TWO.spec(), percentile=20.0) for n in range(3)}
    spent = []
    for kept in (False, True):
        lab = Lab(tmp_path / "results", kept=kept)
        lab.run(equal)
        spent += [lab.spent(), lab.spent()]
    (file,) = (tmp_path / "results").iterdir()
    took = json.loads(file.read_text())["took"]
    assert took > 0 and spent == [took, 0, took, 0]  # once; and the next experiment begins at 0


def test_equal_cells_are_run_once(small, tmp_path):
    seen = []
    lab = Lab(tmp_path, watch=lambda done, known, name: seen.append((done, known)))
    equal = [cell(width, data=TWO.spec(), percentile=20.0) for _ in range(3)]
    results = lab.run(dict(enumerate(equal)))
    assert seen == [(3, 3)] and results[0] is results[1] is results[2] and "gamma" in results[0]


PROGRAM = """
import os, sys, time
from onkel_papers._cells import cell
from onkel_papers.lab import Lab
from onkel_papers.page import page_of

def cell_of(*, seed):
    with open("started", "a") as file:
        file.write(f"{seed} {os.getpid()}\\n")
    looks = 0
    while seed >= 4 and not os.path.exists("go"):
        time.sleep(0.01)
        looks += 1
        if looks > 3000:  # of its own, however slow the machine: the program has long gone
            open("outlived", "w").close()
            break
    return {"seed": seed}

if __name__ == "__main__":
    with Lab("results", jobs=int(sys.argv[1])) as lab:
        results = lab.run({seed: cell(cell_of, seed=seed) for seed in range(20)})
    assert [result["seed"] for result in results.values()] == list(range(20))
    print("whole")
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_it_goes_on_after_a_crash(tmp_path, end):
    (tmp_path / "program.py").write_text(PROGRAM)
    started, results = tmp_path / "started", tmp_path / "results"
    command = [sys.executable, "program.py"]
    process = subprocess.Popen([*command, "2"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not results.exists() or len(list(results.glob("*.json"))) < 4:
        assert process.poll() is None
        time.sleep(0.02)
    # those too that have not begun a cell yet
    workers = set(map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()))
    process.send_signal(end)
    assert process.wait() != 0
    while any(map(_is_running, workers)) and not (tmp_path / "outlived").exists():
        time.sleep(0.02)
    assert not (tmp_path / "outlived").exists(), "the workers have outlived the program"
    kept = {path.name: path.read_bytes() for path in results.glob("*.json")}
    n_started = len(started.read_text().splitlines())
    assert len(kept) == 4
    (tmp_path / "go").touch()
    done = subprocess.run([*command, "1"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "whole\n"
    assert len(started.read_text().splitlines()) - n_started == 20 - len(kept)  # nothing was run twice
    assert {name: (results / name).read_bytes() for name in kept} == kept


def _is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- the experiments

ONE_SET = {
    "oskl": "magic04",
    "spa-table2": "cod-rna",
    "spa-table3": "w7a",
    "spa-table5": "german",
    "spa-table6": "ijcnn1",
    "spa-figure3": "SUSY",
    "spa": "a9a",
    "bogd": "german",
}
MINE = [name for name in reproduce.names() if name.partition("-")[0] in ("oskl", "spa", "bogd")]


@pytest.mark.parametrize("name", MINE)
def test_an_experiment_runs(name, small, tmp_path):
    data = ONE_SET.get(name) or ONE_SET[name.partition("-")[0]]
    with Lab(tmp_path / "results", quick=True, runs=1, data=[data]) as lab:
        found = reproduce.experiment(name)(lab).completed()
    assert list(found.sets) == [data]
    assert found.sets[data]["rows"] and 0 < found.sets[data]["majority"] < 50
    asked = {place for place in figures()[name] if place[0] == data}
    entries = {(entry.data, entry.learner, entry.metric): entry for entry in found.entries}
    assert asked <= set(entries) and len(entries) == len(found.entries)
    for place in asked:
        entry = entries[place]
        judged = METRICS[place[2]].kind in ("rate", "claim")  # so few rows are too few to judge counts
        assert entry.verdict in (VERDICTS if judged else ("", *VERDICTS))
        # OSKL may have no G that gives so few points on so few rows, and a claim may be about more points.
        assert entry.ours or "OSKL" in entry.learner or entry.is_claim, place
    if name.startswith(("bogd-table3", "oskl-table3", "oskl-table4", "spa-table")):
        assert any(entry.learner.startswith("Newton") and entry.ours for entry in found.entries)
    assert found.curves and all(curve["data"] == data for curve in found.curves)
    assert sum(sum(found.counts(apart).values()) for apart in ("", *APART)) >= len(
        [place for place in asked if METRICS[place[2]].kind == "rate"]
    )


def test_sets_that_are_not_to_be_had_are_missing_cells(small, tmp_path):
    found = reproduce.experiment("spa-table2")(Lab(tmp_path, quick=True, data=["KDD08"])).completed()
    assert found.counts() == {"better": 0, "within": 0, "worse": 0, "missing": 15}
    assert found.counts("protocol")["missing"] == 7  # budgets
    assert {entry.note for entry in found.entries} == {"not available"}


def test_what_a_paper_gets_wrong_is_noted(small, tmp_path):
    found = reproduce.experiment("spa-table2")(Lab(tmp_path, quick=True, runs=1, data=["w7a"], kept=True)).completed()
    (table,) = tables(found)
    lines = {line["learner"]: line for line in table.lines}
    assert table.columns[-1] == "note"
    assert lines["Projectron"]["note"] == "the paper: the row repeats that of the Forgetron"
    assert "note" not in lines["RBP"]


# -- the command


def test_the_list(run):
    code, out, _ = run("--list")
    assert code == 0 and [line.split()[0] for line in out.splitlines()[1:]] == reproduce.names()
    listed = json.loads(run("--list", "--json")[1])
    assert all(line["what it is"].endswith(".") for line in listed)


def test_the_tables(run):
    words = ("bogd-table2", "--data", "german", "--runs", 2, "--quick")
    code, out, err = run(*words, "--report", "out.html", "--markdown", "out.md")
    assert (code, err) == (0, "onkel: the tables are in out.md\nonkel: the report is in out.html\n")
    assert re.search(
        r"Means ± sd over 2 runs, \d+ seconds of one core\. \d+ better, \d+ within, \d+ worse, 0 missing\.", out
    )
    assert re.search(r"german: 150 rows, always predicting the majority class errs in \d+\.\d %", out)
    assert re.search(r"^OGD +30\.11 ± 0\.62 +\d+\.\d\d ± \d+\.\d\d (better|within|worse) ", out, re.MULTILINE)
    text = Path("out.md").read_text("utf-8")
    assert re.search(r"^\| OGD \| 30\.11 ± 0\.62 \| \d+\.\d\d ± ", text, re.MULTILINE)
    assert Path("out.html").read_text("utf-8").startswith("<!doctype html>")
    (document,) = json.loads(run(*words, "--json")[1])
    assert document["experiment"] == "bogd-table2" and document["sets"]["german"]["rows"] == small_data.ROWS
    entry = next(e for e in document["entries"] if (e["learner"], e["metric"]) == ("OGD", "error"))
    assert entry["paper"] == {"mean": 30.115, "sd": 0.618} and entry["ours"]["runs"] == 2
    assert os.path.isdir("reproduce-results")


def test_what_is_kept_can_be_shown_without_running_anything(run, monkeypatch):
    words = ("bogd-table2", "--quick", "--runs", 1)
    assert run(*words, "--data", "german")[0] == 0
    monkeypatch.setattr(lab, "_result_of", lambda one: pytest.fail("it was run"))
    (document,) = json.loads(run(*words, "--data", "german,spambase", "--kept", "--json")[1])
    missing = {entry["data"] for entry in document["entries"] if entry["verdict"] == "missing"}
    assert missing == {"spambase", "german"}  # german's is the t-test, which one run is too few for
    assert document["counts"]["missing"] == 4
    assert "not run" in run(*words, "--data", "spambase", "--kept")[1]
    for name in reproduce.names():
        assert run(name, "--kept", "--results", "nowhere")[0] == 0, name
    assert not os.path.exists("nowhere")


def test_a_page_is_filled_in(run):
    text = "# A page\n\n<!-- papers: summary -->OLD<!-- /papers: summary -->\n\n"
    text += "<!-- papers: bogd -->\nOLD\n<!-- /papers: bogd -->\n\nThe end.\n"
    Path("page.md").write_text(text, "utf-8")
    for _ in range(2):
        assert run("bogd-table2", "--data", "german", "--runs", 1, "--quick", "--markdown", "page.md")[0] == 0
        made = Path("page.md").read_text("utf-8")
        assert made.startswith("# A page\n\n<!-- papers: summary -->") and made.endswith(
            "<!-- /papers: bogd -->\n\nThe end.\n"
        )
        assert "OLD" not in made and made.count("### bogd-table2") == 1 and "better" in made


def test_what_must_be_known_of_a_cell_is_noted(tmp_path):
    found = Findings.of("bogd-table3", Lab(tmp_path), {"german": Data(("german.numer",), paper_rows=1_000)})
    found.add("german", "Forgetron (B=100)", [{"missing": "not run"}], "error")
    assert tables(found)[0].heading == "german: missing: not run"
    found.add("german", "RBP (B=100)", [{"error": 30.0, "rows": 500, "majority": 30.0}] * 2, "error")
    found.add(
        "german", "BOGD (B=100)", [{"error": error, "rows": 500, "majority": 30.0} for error in (29.0, 31.0)], "error"
    )
    found.add("german", "Projectron (B=100)", [{"missing": "not run"}], "error")
    (table,) = tables(found)
    assert table.heading == "german: 500 rows, always predicting the majority class errs in 30.0 %"
    assert {line["learner"].partition(" ")[0]: line["note"] for line in table.lines} == {
        "Forgetron": "not run",
        "RBP": "50 % of the paper's rows; always the majority class",
        "BOGD": "50 % of the paper's rows",
        "Projectron": "not run",
    }


def test_a_claim_is_not_judged_from_a_part_of_its_runs(small, tmp_path):
    folder = tmp_path / "results"
    reproduce.experiment("spa-figure2")(Lab(folder, quick=True, runs=1, data=["a9a"]))
    verdicts = []
    for _ in range(2):
        found = reproduce.experiment("spa-figure2")(Lab(folder, quick=True, runs=1, data=["a9a"], kept=True))
        verdicts.append({entry.verdict for entry in found.entries if entry.metric == "claim"})
        next(folder.glob("held_out-SPA-*.json")).unlink()
    assert verdicts[0] <= {"within", "worse"} and verdicts[1] == {"missing"}


@loop
@pytest.mark.parametrize(
    ("seconds", "held_out", "said"),
    [
        ([1.0, 9.0], [0.5, 0.9], "PCD 9.0, DCD 9.0"),
        ([1.0, 9.0], [0.5, 0.6], "PCD more than 9.0 (not there in 2 sweeps)"),
    ],
)
def test_times_are_said_and_not_judged(tmp_path, seconds, held_out, said):
    found = Findings.of("klr-figures", Lab(tmp_path), {"mushrooms": klr.SETS["mushrooms"]})
    batch = [{"curve": {"seconds": seconds, "held_out": held_out}, "sweeps": 2}]
    online = [{"curve": {"seconds": [0.5, 1.0], "held_out": [0.6, 0.9]}}]
    klr._check_times(found, "mushrooms", {"Auxiliary (γ=2)": online, "PCD": batch, "DCD": batch})
    (claim,) = found.entries
    assert claim.verdict == "" and claim.is_claim and said in claim.note
    assert {claim.said for claim in judged([found])} == {"not judged"}


@loop
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "expected the names of experiments (--list prints them), or all"),
        (["bogd-table9"], "there is no experiment 'bogd-table9'; expected one of oskl-table3, "),
        (
            ["bogd-table2", "--data", "german,mars"],
            "--data german,mars: there is no set 'mars' in these experiments; they have german, ",
        ),
    ],
)
def test_a_wrong_call_is_said_in_a_sentence(run, words, sentence):
    code, out, err = run(*words)
    assert (code, out) == (2, "") and err.startswith(f"onkel: {sentence}") and err.count("\n") == 1


def test_a_missing_package_is_said_in_a_sentence(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "onkel_papers", None)
    code, out, err = run("--list")
    assert (code, out) == (1, "")
    assert (
        err
        == "onkel: reproduce needs the package onkel_papers, which comes with onkel and is not there: reinstall onkel\n"
    )


def test_markdown_has_no_table_that_is_torn(small, tmp_path):
    found = reproduce.experiment("bogd-table2")(Lab(tmp_path, quick=True, runs=1, data=["german"])).completed()
    found.add("german", "a|b", [{"error": 1.0}], "error")
    for block in re.findall(r"(?:^\|.*\n)+", markdown([found]), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1 and "| --- |" in block


# -- the report


@pytest.fixture
def window(small, tmp_path):
    """The report of two experiments in a browser; at the end nothing may have been complained of or fetched."""
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    with Lab(tmp_path / "results", quick=True, runs=1, data=["german", "a9a"]) as lab:
        found = [reproduce.experiment(name)(lab).completed() for name in ("bogd-table3", "spa-figure2")]
    path.write_text(page_of(found), encoding="utf-8")
    complaints = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=0)
        window = browser.new_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
        window.on("console", lambda message: complaints.append(message.text))
        window.on("pageerror", lambda error: complaints.append(str(error)))
        window.on("request", lambda request: complaints.append(request.url) if "report.html" not in request.url else 0)
        window.goto(path.as_uri())
        window.wait_for_selector("circle.point")
        yield window
        browser.close()
    assert complaints == []


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_report_on_a_phone(window):
    assert window.evaluate("document.documentElement.scrollWidth") == 390
    assert window.locator(".contents a").all_inner_texts() == ["Claims", "Counts", "bogd-table3", "spa-figure2"]
    assert window.locator("h2").all_inner_texts() == ["Claims", "Counts", "bogd-table3", "spa-figure2"]
    assert "BOGD++ errs less than BOGD" in window.locator("section[id='Claims']").inner_text()
    figures_of = window.locator("section[id='bogd-table3'] table").nth(1)  # the first has the choices
    learners = figures_of.locator("tbody tr").count()
    assert learners == 34  # six of the paper, two as found and Newton: three budgets; once with the other constant
    assert window.locator("td.better, td.within, td.worse").count() > 18
    first = window.locator("figure").first
    assert first.locator("circle.point").count() == 34 and first.locator("path.curve").count() == 16
    for x in first.locator("circle.point").evaluate_all("c => c.map(x => x.cx.baseVal.value)"):
        assert 0 <= x <= 390
    canvas = first.locator(".canvas")
    canvas.scroll_into_view_if_needed()
    canvas.tap(position={"x": canvas.bounding_box()["width"] / 2, "y": 60})
    assert 1 <= first.locator(".tip div").count() <= 16
    assert "β in [5, 10] is a good trade-off" in window.locator("section[id='spa-figure2']").inner_text()
    before = figures_of.locator("tbody td.text").first.inner_text()
    figures_of.locator("th button").nth(2).click()
    heads = figures_of.locator("tbody td:nth-child(3)")
    shown = [float(text.split()[0]) for text in heads.all_inner_texts()]
    assert shown == sorted(shown, reverse=True) and before
