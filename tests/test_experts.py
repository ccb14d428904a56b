"""Experts with regions of their own: against a plain reference, and what they promise beyond it."""

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import onkel
from exported import READERS
from interrupting import interrupted_at_check
from onkel.regions import Condition
from reference.experts import Experts as Reference
from reference.experts import Leaf

TASKS = "regression", "binary", "multiclass"
AT = Condition((1,), (0.125,))
THEN = Condition((0, 2), (0.5, -0.25))


def data(task, n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8)
    f = np.sin(2 * X[:, 0]) + np.where(X[:, 1] > 0.125, X[:, 2], 0)
    y = {"regression": f + 0.1 * rng.normal(size=n), "binary": f > 0, "multiclass": np.digitize(f, [-0.5, 0.5])}[task]
    return X, y.astype(np.float64)


def fresh(task, budget=20, gamma=0.4, **also):
    recipe = onkel.recipes.Newton(loss="squared_error" if task == "regression" else "log_loss")
    return onkel.Learner(
        recipe, task=task, gamma=gamma, budget=budget, n_classes=1 if task != "multiclass" else 2, **also
    )


def grown(task, X, y, n=300, convert=np.asarray, **also):
    """A tree of three leaves, with two experts at the root, one in a region that is divided, and a fresh one."""
    made = fresh(task, **also)
    made.learn_rows(convert(X[:n]), y[:n])

    def child(holds, gamma):
        rows = np.flatnonzero(holds)
        expert = made.blank(kernel=onkel.parts.RBF(gamma), budget=15)
        expert.learn_rows(convert(X[rows]), y[rows], positions=rows)
        return expert

    low = AT.lower(X[:n])
    made = made.divided(0, AT, [child(low, 1.0)], [child(~low, 0.7)])
    made = made.with_expert(0, child(low | ~low, 0.1), 0.2)
    (upper,) = (region.number for region in made.regions if region.is_upper)
    far = ~low & ~THEN.lower(X[:n])
    return made.divided(upper, THEN, [], [child(far, 1.5), made.blank(budget=5)])


def place_of(x):
    return 1 if AT.lower(x[None])[0] else 3 if THEN.lower(x[None])[0] else 4


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_the_path_is_summed_with_the_weights_of_its_leaf(task, sparse):
    X, y = data(task)
    convert = csr_array if sparse else np.asarray
    made = grown(task, X, y, convert=convert)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    learners = {number: made.expert(number) for number in made.experts}
    leaves = {r.number: Leaf(zip(r.path, r.weights, strict=True)) for r in made.regions if r.is_leaf}
    counts = Counter({region.number: region.rows for region in made.regions})
    dense = {number: onkel.Learner._from_saved_fields(each._saved_fields()) for number, each in learners.items()}
    if sparse:
        for each in dense.values():
            each.score = lambda x, own=each: own.score_rows(csr_array(x[None]))[0]
            each.learn_rows = lambda X, y, w, own=each: onkel.Learner.learn_rows(own, csr_array(X), y, w)
    plain = Reference(task, dense, place_of, leaves)
    assert_array_equal(made.leaf_of(convert(X)), [place_of(x) for x in X])
    expected = []
    for x, label, w in zip(X[300:], y[300:], weight[300:], strict=True):
        expected.append(plain.score(x))
        plain.learn(x, label, w)
        at = place_of(x)
        counts.update({0: w > 0, at: w > 0} | ({2: w > 0} if at > 2 else {}))
    scores = made.learn_rows(convert(X[300:]), y[300:], weight[300:], scores=True)
    assert_allclose(scores, np.array(expected), rtol=1e-7, atol=1e-7)
    for region in made.regions:
        assert region.rows == counts[region.number]
        if region.is_leaf:
            leaf = leaves[region.number]
            assert_allclose(region.weights, [leaf.weights[e] for e in region.path], rtol=1e-6)
            assert_allclose(region.loss, np.mean(leaf.losses), rtol=1e-6)
    assert_allclose(made.score_rows(convert(X)), [plain.score(x) for x in X], rtol=1e-7, atol=1e-7)
    each = made.score_rows(convert(X[:50]), each=True).reshape(50, len(made.experts), -1)
    for x, row in zip(X, each, strict=False):
        for number, scored in zip(made.experts, row, strict=True):
            held = number in leaves[place_of(x)].weights
            assert_allclose(scored, learners_score(plain, number, x) if held else 0.0, rtol=1e-7, atol=1e-7)


def learners_score(plain, number, x):
    return np.atleast_1d(plain.learners[number].score(x))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cuts_threads_files_and_copies_change_no_bit(task, dtype, tmp_path):
    X, y = data(task, 1900)
    made = grown(task, X, y, dtype=dtype)
    y[1500:1520] += 2 * (task == "multiclass")  # classes that appear late
    whole, cut = made.clone(), made.clone()
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(y))
    scores = whole.learn_rows(X[300:], y[300:], weight[300:], scores=True)
    found, ends = [], [300, 301, 303, 350, 351, 900, 1501, 1505, 1900]
    for step, (begin, end) in enumerate(itertools.pairwise(ends)):
        cut.n_jobs = 1 + step % 3
        part = cut.learn_rows(X[begin:end], y[begin:end], weight[begin:end], scores=True)
        found.append(np.pad(part, [(0, 0), (0, scores.shape[1] - part.shape[1])]))
        if step % 3 == 0:
            onkel.save(cut, tmp_path / "model")
            cut = onkel.load(tmp_path / "model")
        else:
            cut = cut.clone() if step % 3 == 1 else pickle.loads(pickle.dumps(cut))
    assert_array_equal(np.vstack(found), scores)
    assert cut.fingerprint() == whole.fingerprint()
    assert cut.regions[1].weights.tolist() == whole.regions[1].weights.tolist()
    single = made.clone()
    for x, label, w in zip(X[300:700], y[300:700], weight[300:700], strict=True):
        if w == 1:
            single.learn(x, label)
        else:
            single.learn_rows(x[None], np.array([label]), np.array([w]))
    made.learn_rows(X[300:700], y[300:700], weight[300:700])
    assert single.fingerprint() == made.fingerprint()
    assert_array_equal(made.score_rows(X)[5], np.atleast_1d(made.score(X[5])))


@pytest.mark.parametrize("n", [1, 30, 600])
def test_a_copy_and_what_it_was_copied_from_go_their_own_ways(n):
    X, y = data("binary")
    made = grown("binary", X, y)
    copied, before, rest = made.clone(), made.fingerprint(), slice(300, 300 + n)
    made.learn_rows(X[rest], y[rest])
    assert copied.fingerprint() == before
    scores = copied.score_rows(X)
    again = copied.clone()
    copied.learn_rows(X[rest], y[rest])
    assert copied.fingerprint() == made.fingerprint()
    assert_array_equal(again.score_rows(X), scores)
    made.learn_rows(X[rest], 1 - y[rest])
    assert copied.fingerprint() != made.fingerprint()


def test_a_row_on_the_threshold_belongs_to_the_lower_side():
    X, y = data("regression", 300)
    made = grown("regression", X, y)
    above = np.nextafter(0.125, 1)
    rows = np.array([[0, 0.125, 0], [0, above, 0], [0.5, 1, -0.25], [0.5, 1, -0.24], [0.6, 1, -1.0], [0.5, 1, -0.3]])
    assert made.leaf_of(rows).tolist() == [1, 4, 3, 4, 4, 3]
    sparse = grown("regression", X, y, convert=csr_array)
    assert sparse.leaf_of(csr_array(rows)).tolist() == made.leaf_of(rows).tolist()  # what is absent is 0
    assert Condition((0,), (0.1,)).thresholds == (float(np.float32(0.1)),)


def test_points_that_several_experts_hold_count_once():
    X, y = data("binary")
    made = grown("binary", X, y)
    made.learn_rows(X[300:], y[300:])
    points, births = made.support()
    assert len(births) == made.n_support == len(set(births.tolist()))
    assert sum(made.expert(number).n_support for number in made.experts) > made.n_support
    assert_array_equal(points, X[births])
    assert births.tolist() == sorted(births.tolist())
    reached = grown("binary", X, y, convert=csr_array)
    reached.reach(5)
    assert reached.support()[0].shape == (reached.n_support, 5)
    reached.learn_rows(csr_array(np.pad(X[300:], [(0, 0), (0, 2)])), y[300:])
    assert_allclose(
        reached.score_rows(csr_array(np.pad(X, [(0, 0), (0, 2)]))), made.score_rows(X), rtol=1e-9, atol=1e-9
    )


def test_the_verbs_leave_the_learner_as_it_was():
    X, y = data("regression")
    made = grown("regression", X, y)
    before = made.fingerprint()
    more = made.with_expert(2, made.expert(0), 0.25)
    for region in more.regions:
        if region.is_leaf and region.number > 2:
            assert_allclose(region.weights[region.path.index(more.experts[-1])], 0.25)
            assert_allclose(region.weights.sum(), 1)
    fewer = more.without_expert(more.experts[-1])
    for old, new in zip(made.regions, fewer.regions, strict=True):
        assert_allclose(old.weights, new.weights, rtol=1e-12)
    merged = made.merged_back(2)
    assert [region.number for region in merged.regions] == [0, 1, 2]
    assert merged.experts == (0, 1, 2, 3)
    assert merged.regions[2].rows == made.regions[2].rows
    assert_array_equal(merged.leaf_of(X) == 2, made.leaf_of(X) > 2)
    again = merged.divided(2, AT, [], [])
    assert [region.number for region in again.regions] == [0, 1, 2, 5, 6]  # numbers are not used again
    whole = made.merged_back(0)
    assert whole.experts == (0, 3)
    assert_allclose(whole.regions[0].weights.sum(), 1)
    other = made.with_weights(1, [1, 0, 1])
    assert_allclose(other.regions[1].weights, [0.5, 0, 0.5], atol=1e-300)
    assert made.fingerprint() == before
    for changed in (more, fewer, merged, again, whole, other):
        changed.learn_rows(X[300:], y[300:])
        assert pickle.loads(pickle.dumps(changed)).fingerprint() == changed.fingerprint()
    assert made.fingerprint() == before


def test_what_cannot_be_is_refused_and_changes_nothing():
    X, y = data("binary")
    made = grown("binary", X, y)
    before = made.fingerprint()
    late = made.expert(0)
    late.learn_rows(X[300:], y[300:])
    wide = fresh("binary")
    wide.learn_rows(np.zeros((1, 4)), np.zeros(1))
    refused = [
        (lambda: made.divided(0, AT, [], []), "region 0 is divided"),
        (lambda: made.divided(1, Condition((3,), (0.0,)), [], []), "must ascend, and be columns"),
        (lambda: made.merged_back(1), "region 1 is a leaf"),
        (lambda: made.without_expert(77), "no expert 77"),
        (lambda: made.expert(77), "no expert 77"),
        (lambda: made.without_expert(0).without_expert(3).without_expert(1), "cannot lose its last expert"),
        (lambda: made.with_expert(0, late), "rows that come after those of the stream"),
        (lambda: made.with_expert(0, wide), "take the same rows"),
        (lambda: made.with_expert(9, made.expert(0)), "no region 9"),
        (lambda: made.with_weights(1, [1.0, 2.0, 0.0]), "between 0 and 1"),
        (lambda: made.with_weights(1, [1.0]), "one weight for each"),
        (lambda: made.learn_rows(X[:2], y[:2], positions=np.array([400, 401])), "shown every row"),
        (lambda: Condition((1, 0), (0.0, 0.0)), "must ascend"),
        (lambda: Condition((1,), (np.inf,)), "finite"),
        (lambda: Condition((), ()), "finite threshold"),
        (lambda: late.learn_rows(X[:2], y[:2], positions=np.array([3, 4])), "positions of rows must ascend"),
    ]
    for call, words in refused:
        with pytest.raises(ValueError, match=words):
            call()
    assert made.fingerprint() == before


@pytest.mark.parametrize("n", [1, 30, 500])
def test_the_row_at_which_one_expert_fails_changes_nothing(n):
    X, y = data("regression")
    made = grown("regression", X, y)
    alone = made.clone()
    rows, labels = X[300 : 300 + n + 5].copy(), y[300 : 300 + n + 5].copy()
    labels[n] = 1e200
    with pytest.raises(FloatingPointError):
        made.learn_rows(rows, labels)
    alone.learn_rows(rows[:n], labels[:n])
    assert made.fingerprint() == alone.fingerprint()
    with pytest.raises(FloatingPointError):
        made.learn(rows[n], labels[n])
    assert made.fingerprint() == alone.fingerprint()


def test_an_interrupted_call_goes_on_where_it_stopped():
    X, y = data("binary", 2000)
    made = grown("binary", X, y)
    whole = made.clone()
    whole.learn_rows(X[300:], y[300:])
    with pytest.raises(KeyboardInterrupt), interrupted_at_check(1):
        made.learn_rows(X[300:], y[300:])
    assert 300 < made.t < 2000
    made.learn_rows(X[made.t :], y[made.t :])
    assert made.fingerprint() == whole.fingerprint()


def test_variances_are_those_of_the_path_with_the_noise_of_the_leaf():
    X, y = data("regression")
    made = grown("regression", X, y)
    made.learn_rows(X[300:], y[300:])
    variance, noise = made.variance_rows(X)
    leaves = {region.number: region for region in made.regions if region.is_leaf}
    for x, found, around in zip(X[:40], variance, noise, strict=False):
        leaf = leaves[made.leaf_of(x[None])[0]]
        deviation = 0.0
        for number, w in zip(leaf.path, leaf.weights, strict=True):
            own, unit = made.expert(number).variance_rows(x[None])
            deviation += w * np.sqrt(own[0] * unit[0])
        assert_allclose(around, leaf.noise)
        assert_allclose(found * around, deviation**2, rtol=1e-9)


def test_the_function_is_a_sum_of_terms_with_regions():
    X, y = data("multiclass")
    made = grown("multiclass", X, y)
    made.learn_rows(X[300:], y[300:])
    function = made.expansion()
    assert [term.expert for term in function.terms] == list(made.experts)
    leaf_of = made.leaf_of(X)
    for leaf, terms in function.leaves:
        rows = X[leaf_of == leaf.number][:20]
        total = 0.0
        for weight, term in terms:
            distances = ((rows[:, None] - term.points[None]) ** 2).sum(axis=2)
            total = total + weight * np.exp(-term.kernel.gamma * distances) @ term.average.points.T
        assert_allclose(total, made.score_rows(rows), rtol=1e-9, atol=1e-9)


def estimator(task, made):
    """An estimator that has learned nothing but what `made` has."""
    X = np.zeros((4, 3))
    cls = onkel.NewtonRegressor if task == "regression" else onkel.NewtonClassifier
    labels = {"regression": np.zeros(4), "binary": np.array([0, 1, 0, 1]), "multiclass": np.array([0, 1, 2, 0])}[task]
    model = cls(gamma=0.5, lam=1.0, forget=1.0, relevances=None, ranks=None, random_state=0).fit(X, labels)
    return model.__onkel_with_learner__(made)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["json", "c", "onnx"])
def test_an_export_divides_rows_and_sums_over_their_path(task, name, tmp_path):
    X, y = data(task)
    made = grown(task, X, y, fit_intercept=True)
    made.learn_rows(X[300:700], y[300:700])
    model = estimator(task, made)
    rows = np.vstack([X[700:760].astype(np.float32), [[0.5, 1, -0.25], [0, 0.125, 0], [0.5, 1, -0.24]]])
    if name == "onnx":
        pytest.importorskip("onnxruntime")
        exported = onkel.export.to_onnx(model)
        rows = rows.astype(np.float32)
    else:
        exported = (onkel.export.to_json if name == "json" else onkel.export.to_c)(model)
    scores, predicted = READERS[name](exported, rows, tmp_path)
    expected = made.score_rows(rows.astype(np.float64))
    assert_allclose(scores, expected, rtol=1e-4, atol=1e-4 if name == "onnx" else 1e-9)
    if name == "json":
        assert_allclose(predicted, model.predict(rows), rtol=1e-9)
    with pytest.raises(ValueError, match="LIBSVM knows no regions"):
        onkel.export.to_libsvm(model)


def test_attributes_of_one_function_name_the_regions():
    X, y = data("binary")
    made = grown("binary", X, y)
    model = estimator("binary", made)
    for name in ("dual_coef_", "norm_"):
        with pytest.raises(AttributeError, match="regions_"):
            getattr(model, name)
    assert len(model.support_vectors_) == model.n_support_ == made.n_support
    assert [region.number for region in model.regions_] == [0, 1, 2, 3, 4]
    assert model.importances_.shape == (3,)
    assert model.importances_.max() == 1
    made.learn_rows(X[300:], y[300:])
    lines = onkel.inside.facts(model)["regions"]
    assert lines[0].startswith("x1 <= 0.125: ")
    assert lines[2].startswith("x1 > 0.125, x0 > 0.5 or x2 > -0.25: ")
    root = estimator("binary", made.merged_back(0))  # several experts of one region are several terms
    terms = root.dual_coef_
    assert terms.shape == (2, root.n_support_)
    values = root._learner.expansion().on_common_points.terms
    total = sum(
        t.weight * np.exp(-t.kernel.gamma * ((X[:9, None] - t.points[None]) ** 2).sum(axis=2)) @ own
        for t, own in zip(values, terms, strict=True)
    )
    assert_allclose(total, root.decision_function(X[:9]), rtol=1e-9)
    assert root.norm_ > 0


@pytest.mark.parametrize("task", TASKS)
def test_compress_makes_each_expert_smaller(task):
    X, y = data(task)
    made = grown(task, X, y)
    made.learn_rows(X[300:700], y[300:700])
    model = estimator(task, made)
    small = onkel.compress(model, n_support=30)
    assert small.n_support == small.model.n_support_ <= 30
    assert [region.condition for region in small.model.regions_] == [region.condition for region in made.regions]
    for region in made.regions:
        if region.is_leaf:
            inside = made.leaf_of(X) == region.number
            norms = [small.model._learner.expert(e).n_support for e in region.path]
            assert min(norms) >= 1
            apart = np.abs(small.model._learner.score_rows(X[inside]) - made.score_rows(X[inside]))
            assert apart.max() <= small.distance * (1 + 1e-6)  # kernels are at most 1
    close = onkel.compress(model, eps=0.05)
    assert close.distance <= 0.05
    assert close.n_support <= made.n_support
    again = close.model._learner.clone()
    again.learn_rows(X[700:], y[700:])
    assert pickle.loads(pickle.dumps(again)).fingerprint() == again.fingerprint()
    with pytest.raises(ValueError, match="n_support"):
        onkel.compress(model, n_support=3)


def test_first_order_experts_are_compressed_for_their_own_rows():
    X, y = data("binary")
    made = onkel.Learner(onkel.recipes.OGD(), gamma=0.4, budget=None)
    made.learn_rows(X[:200], y[:200])
    made = made.divided(0, AT, [made.blank()], [made.blank()])
    made.learn_rows(X[200:400], y[200:400])
    small = onkel.compress(made, n_support=60, X=X[400:])
    assert small.n_support <= 60
    assert small.loss_change < 0.05


@pytest.mark.parametrize("task", TASKS)
def test_merge_joins_experts_of_the_same_regions(task):
    X, y = data(task, 1400)
    first, second = grown(task, X, y), grown(task, X[700:], y[700:])
    first.learn_rows(X[300:700], y[300:700])
    second.learn_rows(X[1000:], y[1000:])
    models = [estimator(task, each) for each in (first, second)]
    merged = onkel.merge(models)
    joined = merged.model._learner
    assert [region.condition for region in joined.regions] == [region.condition for region in first.regions]
    assert len(joined.experts) == len(first.experts)  # each has the kernel of its like
    assert joined.t == 1400
    points, births = joined.support()
    assert_array_equal(points, X[births])

    of = dict(zip(joined.experts, (0, 3, 1, 2, 4, 5), strict=True))  # in the order of the regions
    for number, old in of.items():
        alone = onkel.merge([first.expert(old), second.expert(old)]).model
        assert_allclose(joined.expert(number).score_rows(X), alone.score_rows(X), rtol=1e-9, atol=1e-9)
    for leaves in zip(joined.regions, first.regions, second.regions, strict=True):
        if leaves[0].is_leaf:
            mean = np.average([leaf.weights for leaf in leaves[1:]], axis=0, weights=[r.rows + 1 for r in leaves[1:]])
            assert_allclose(leaves[0].weights, mean)
    smaller = onkel.merge(models, budget=40)
    assert smaller.n_support <= 40
    # of other kernels: side by side, which is the mean of the two
    own = second.experts[0]
    other = second.with_expert(0, second.expert(3)).without_expert(own)
    beside = onkel.merge([estimator(task, each) for each in (first, other)]).model._learner
    assert pickle.loads(pickle.dumps(beside)).fingerprint() == beside.fingerprint()
    # regions that one of them has alone are merged back
    fewer = onkel.merge([models[0], estimator(task, second.merged_back(2))]).model._learner
    same = onkel.merge([estimator(task, each.merged_back(2)) for each in (first, second)]).model._learner
    assert [region.number for region in fewer.regions] == [0, 1, 2]
    assert fewer.fingerprint() == same.fingerprint()
    alone = onkel.merge([models[0], estimator(task, second.expert(0))]).model._learner
    assert alone.experts == (0, 1)
    assert len(alone.regions) == 1
