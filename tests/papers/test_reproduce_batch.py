"""The experiments of the POLK and the sparse KLR papers, on data in miniature."""

import io
import re
import sys
from base64 import b64decode

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import onkel_papers as reproduce
from onkel.plot._axes import COLOURS
from onkel.streams.generators import mixture, mixture_modes
from onkel_papers import _drawings, _klr_cells, _polk_cells, klr
from onkel_papers.lab import Lab
from onkel_papers.page import page_of
from onkel_papers.verdict import METRICS, VERDICTS, figures


@pytest.fixture
def small(small, monkeypatch):
    """A mixture stands for the images."""
    X, y = next(mixture(900))

    def whole(name, draw):
        rows = np.tile(X, 392) / 20 if name == "mnist" else X  # of 28 times 28 pixels
        return rows[:600], y[:600], rows[600:], y[600:]

    monkeypatch.setattr(_polk_cells, "_whole", whole)
    monkeypatch.setattr(_polk_cells, "WIDTHS", dict.fromkeys(_polk_cells.WIDTHS, 0.6))
    monkeypatch.setattr(_polk_cells, "LANDMARKS", 20)
    monkeypatch.setattr(_polk_cells, "FOURIER", dict.fromkeys(_polk_cells.FOURIER, (None, 50)))
    return small


NAMES = [name for name in reproduce.names() if name.startswith(("polk", "klr"))]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs(name, small, tmp_path):
    data = {"polk-table2": ["multidist"], "polk-table3": ["brodatz"], "polk-curves": ["multidist", "mnist", "brodatz"]}
    asked_sets = data.get(name, ["ijcnn1", "mushrooms"] if name == "klr-figures" else ["rcv1", "reuters"])
    with Lab(tmp_path / "results", quick=True, runs=2, data=asked_sets) as lab:
        found = reproduce.experiment(name)(lab).completed()
    assert set(found.sets) == set(asked_sets)
    asked = {place for place in figures()[name] if place[0] in asked_sets}
    entries = {(entry.data, entry.learner, entry.metric): entry for entry in found.entries}
    assert asked <= set(entries) and len(entries) == len(found.entries)
    for place in asked:
        entry, kind = entries[place], METRICS[place[2]].kind
        judged = kind not in ("time", "risk", "shown claim")
        grows = kind in ("count", "sparsity")  # with the rows, of which a quick run has fewer
        open_ones = [""] if grows else ["undecided"] if kind == "claim" else []
        assert entry.verdict in ((*VERDICTS, *open_ones) if judged else ("",)), place
        assert entry.ours or place[0] == "rcv1" or kind == "shown claim", place  # which is shown and never judged
        assert kind != "claim" or place[0] == "rcv1" or entry.note, place
    assert any(entry.learner.startswith("Newton") and entry.ours for entry in found.entries)
    assert page_of([found]).startswith("<!doctype html>")
    again = reproduce.experiment(name)(Lab(tmp_path / "results", quick=True, runs=2, data=asked_sets, kept=True))
    assert [e.ours for e in again.completed().entries] == [e.ours for e in found.entries]


def test_sets_that_are_not_to_be_had_are_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
    _polk_cells._whole.cache_clear()
    found = reproduce.experiment("polk-table3")(Lab(tmp_path / "results", quick=True, data=["brodatz"])).completed()
    assert {entry.verdict for entry in found.entries if entry.paper and entry.metric != "risk"} == {"missing"}
    assert "put brodatz-textures.tar in a folder" in found.sets["brodatz"]["missing"]
    assert reproduce.experiment("polk-curves")(Lab(tmp_path / "results", quick=True, data=["brodatz"])).parts == []


def test_the_mixtures_are_drawn_by_a_rule_that_knows_no_result():
    for seed, draw in enumerate(_polk_cells.DRAWS):
        _polk_cells._whole.cache_clear()
        assert 0.0267 <= _polk_cells.bayes_error(draw) <= 0.0367
        X, y, X_test, y_test = _polk_cells.split("multidist", seed, None)
        assert (len(X), len(X_test), set(y)) == (5000, 2500, set(range(5)))
        off = np.sqrt(((X_test[:, None] - mixture_modes(draw)[y_test]) ** 2).sum(axis=2)).min(axis=1)
        assert np.mean(off**2) == pytest.approx(2 * 0.2**2, rel=0.1)
        order = np.random.default_rng(seed).permutation(5000)
        np.testing.assert_array_equal(
            _polk_cells.split("multidist", seed, 40)[0], _polk_cells._whole("multidist", draw)[0][order][:40]
        )
    for draw in range(_polk_cells.DRAWS[1]):  # the first ones: no draw between them would do
        assert draw == _polk_cells.DRAWS[0] or not 0.0267 <= _polk_cells.bayes_error(draw) <= 0.0367


def test_late_means_and_risk(small):
    described = {"set": "mnist", "task": "SVM", "learner": {"recipe": "BSGD", "budget": 30}, "seed": 0, "rows": None}
    run = _polk_cells.online(**described, passes=1)
    assert run["rows"] == 576 and run["curve"]["rows"][-1] == 576  # whole batches
    assert run["error"] == pytest.approx(100 * np.mean(run["curve"]["error"][-2:]))  # 17 and 18 batches of 32 rows
    assert run["n_support"] == 30
    more = _polk_cells.online(**described, passes=3)
    assert more["rows"] == 597 and more["curve"]["rows"][-1] == 1792 and more["risk"] < run["risk"]
    scores, y = np.array([[1.0, 0.5, -1.0]]), np.array([1])
    assert _polk_cells._tested(scores, y, "SVM") == (1.0, 1.5)
    assert _polk_cells._tested(scores, y, "logistic") == (1.0, pytest.approx(np.log(np.exp(scores - 0.5).sum())))


def test_descent_is_timed_until_its_end(small):
    spec = klr.SETS["mushrooms"].spec()
    lam = _klr_cells.best_lambda(data=spec, gamma=3.0, grid=[1e-3, 10.0], rows=100)["lam"]
    assert lam == 1e-3
    for method in ("PCD", "DCD"):
        run = _klr_cells.descent(data=spec, seed=0, method=method, gamma=3.0, lam=lam, sweeps=8, rows=None)
        assert run["accuracy"] > 75
        assert run["curve"]["seconds"] == sorted(run["curve"]["seconds"])
        assert len(run["curve"]["held_out"]) >= 2


def image_of(html):
    return np.asarray(Image.open(io.BytesIO(b64decode(re.search('base64,([^"]+)"', html)[1]))).convert("RGB"), float)


def test_a_plane_is_drawn_the_right_way_up():
    rows = [(0.1, 0.1, 0), (0.9, 0.9, 1)]
    drawn = {"extent": [0.0, 1.0, 0.0, 1.0], "rows": rows, "where": ["00", "01"], "sure": ["11", "10"]}
    picture = image_of(_drawings.plane("<b>", drawn, "where", [(0.75, 0.25)], "points", "sure"))
    ground = {}
    for name, colour in (("first", COLOURS[0]), ("second", COLOURS[1])):
        shade = 255 * (0.7 + 0.3 * np.array(to_rgb(colour)))  # of a region
        ground[name] = np.argwhere(np.abs(picture - shade).max(axis=2) < 4)
    assert 2.5 < len(ground["first"]) / len(ground["second"]) < 3.5
    down, right = ground["second"].mean(axis=0) - ground["first"].mean(axis=0)
    assert down < -50 and right > 50


def test_images_stand_side_by_side():
    picture = image_of(_drawings.images("two", {"black": [[0, 0]], "white": [[255, 255]]}))
    dark = np.argwhere(picture.max(axis=2) < 5)
    assert np.median(dark[:, 1]) < picture.shape[1] / 2


def test_pictures_without_matplotlib_are_refused_with_what_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="need the package matplotlib: pip install"):
        _drawings.images("one", {"black": [[0]]})
