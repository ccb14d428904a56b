"""Break each promise on purpose and see its test fail: `python tests/mutants.py [words of a promise]`.

Works on a copy of the project in a temporary directory, with one build directory for all, so that a mutant compiles no
more than the file it changed. A mutant that its tests let live, or whose text is no longer in the source, is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mutant:
    promise: str
    file: str
    old: str
    new: str
    tests: str  # words for pytest


MUTANTS = [
    Mutant(
        "a point without length is no direction to project on",
        "native/learn/eviction/project_on_newcomer.cpp",
        "self > no_length ? 1 / self : 0.0",
        "1 / self",
        "test_hostile_streams.py -k 'BPA-simple and zero'",
    ),
    Mutant(
        "a row whose kernel with itself overflows does not become a point",
        "native/learn/first_order.cpp",
        '    require_in_range({&self, 1}, "the kernel value", row.position);\n',
        "",
        "test_hostile_streams.py -k overflows",
    ),
    Mutant(
        "Newton learns from no row whose weight would overflow its step",
        "native/learn/second_order.cpp",
        '  require_in_range(weighted, "the weight", example.position);\n',
        "",
        "test_native.py -k 'fuzz and learner'",
    ),
    Mutant(
        "a paper's cell may be missed by two of its standard deviations",
        "src/onkel/reproduce/_verdict.py",
        "max(2 * (paper.sd or 0.0), 0.5)",
        "max(paper.sd or 0.0, 0.5)",
        "test_reproduce.py -k rule",
    ),
    Mutant(
        "a cell that is on file is not run again",
        "src/onkel/reproduce/_lab.py",
        "            if known is None:\n",
        "            if known is None or 'missing' not in known:\n",
        "test_reproduce.py -k kept",
    ),
    Mutant(
        "a missing data set is no result to keep",
        "src/onkel/reproduce/_lab.py",
        'if "missing" not in result:',
        "if True:",
        "test_reproduce.py -k 'kept or missing'",
    ),
    Mutant(
        "a learning curve is measured on rows drawn at random, not on the first of a sorted file",
        "src/onkel/reproduce/_data.py",
        "np.random.default_rng([seed, 1]).permutation(kept)[:rows]",
        "kept[:rows]",
        "test_reproduce.py -k random_sample",
    ),
    Mutant(
        "workers do not outlive a killed experiment",
        "src/onkel/reproduce/_lab.py",
        "            os._exit(1)\n",
        "            pass\n",
        "test_reproduce.py -k killed",
    ),
    Mutant(
        "training rows are scaled by their own ranges",
        "src/onkel/reproduce/_data.py",
        "rows[:n_train].min(axis=0), rows[:n_train].max(axis=0)",
        "rows.min(axis=0), rows.max(axis=0)",
        "test_reproduce.py -k permutations",
    ),
    Mutant(
        "a learning curve does not depend on how the stream is cut",
        "src/onkel/evaluate.py",
        "np.cumsum(np.append(total, values))[-1]",
        "total + values.sum()",
        "test_evaluate.py -k chunks",
    ),
    Mutant(
        "the first row of a class counts as an error",
        "src/onkel/evaluate.py",
        "(guesses == codes) & (codes < known)",
        "guesses == codes",
        "test_evaluate.py -k 'not_known_yet or chunks'",
    ),
    Mutant(
        "scores below 0 are ranked in their order",
        "src/onkel/evaluate.py",
        "np.where(bits >> 15, 0xFFFF - bits, bits + 0x8000)",
        "np.where(bits >> 15, bits - 0x8000, bits + 0x8000)",
        "test_evaluate.py -k area",
    ),
    Mutant(
        "held-out rows are not learned from",
        "src/onkel/evaluate.py",
        "    predicted = est.predict(X)\n",
        "    est.partial_fit(X, y)\n    predicted = est.predict(X)\n",
        "test_evaluate.py -k held_out",
    ),
    Mutant(
        "the command's help waits for no library",
        "src/onkel/cli/fit.py",
        "from typer import Option\n",
        "import numpy\nfrom typer import Option\n",
        "test_cli.py -k nothing_slow",
    ),
    Mutant(
        "an interrupted run saves what it has learned",
        "src/onkel/cli/fit.py",
        "        save(model, output)\n        return",
        "        return",
        "test_cli.py -k ctrl_c_says",
    ),
    Mutant(
        "the kernel's width does not depend on how fast a pipe is",
        "src/onkel/cli/_data.py",
        "while n_rows < _FIRST_ROWS and",
        "while n_rows < 1 and",
        "test_cli.py -k slow_pipe",
    ),
    Mutant(
        "a report escapes what comes from outside",
        "src/onkel/report/_parts.py",
        '.replace("<", "\\\\u003c")',
        "",
        "test_report.py -k escaped",
    ),
    Mutant(
        "a report's legend hides curves",
        "src/onkel/report/page.js",
        " || !this.section.shown.has(index)",
        "",
        "test_report.py -k legend",
    ),
    Mutant(
        "products that were made ahead are not used once the matrix has changed",
        "native/learn/second_order.cpp",
        "ahead_.block == example.block.number && ahead_.folds == covariance_.folds()",
        "ahead_.block == example.block.number",
        "test_newton.py -k any_block",
    ),
    Mutant(
        "both halves of the covariance are kept",
        "native/linalg/covariance.cpp",
        "to[l * lanes + i] = from[i * lanes + l];",
        "to[i * lanes + l] = from[i * lanes + l];",
        "test_differential.py -k 'Newton and longer'",
    ),
    Mutant(
        "a row that joins at once is a point of its own step",
        "native/learn/second_order.cpp",
        "k_[slot] = kappa;",
        "k_[slot] = 0.0;",
        "test_differential.py -k 'Newton and longer'",
    ),
    Mutant(
        "a new point has the prior of what lies outside of the span",
        "native/learn/second_order.cpp",
        "const double unit = 1 / std::sqrt(lam * s);",
        "const double unit = 1 / std::sqrt(lam);",
        "test_differential.py -k 'Newton and longer'",
    ),
    Mutant(
        "what is outside of the span is uncertain",
        "native/learn/second_order.cpp",
        "return std::max(0.0, inside) + std::max(0.0, outside(k, kappa, l)) / lam_;",
        "return std::max(0.0, inside);",
        "test_newton.py -k variance",
    ),
    Mutant(
        "forgetting gives the prior back",
        "native/learn/second_order.cpp",
        "for (std::size_t i = 0; i < turns; ++i) restore(",
        "for (std::size_t i = 1; i < turns; ++i) restore(",
        "test_newton.py -k forgetting",
    ),
    Mutant(
        "the first rows are dropped after the last choice of a width",
        "src/onkel/learner.py",
        "        if first.complete:\n            self._first = None\n",
        "",
        "test_stream_choice.py -k last_width",
    ),
    Mutant(
        "the chosen lam is the one that is learned with",
        "src/onkel/learner.py",
        "        self.recipe, self.kernel, self._core = fresh.recipe, fresh.kernel, fresh._core\n",
        "        self.kernel, self._core = fresh.kernel, fresh._core\n",
        "test_stream_choice.py -k lam",
    ),
    Mutant(
        "rows that wait for the choice of a width are counted by weight",
        "src/onkel/learner.py",
        "counts = np.ones(len(y), bool) if weight is None else weight != 0",
        "counts = np.ones(len(y), bool)",
        "test_stream_choice.py -k any_cuts",
    ),
    Mutant(
        "a row that joins is seen by the very next row of its block",
        "native/basis/basis.cpp",
        "refresh(slot, block, row + 1);",
        "refresh(slot, block, row + 2);",
        "test_exactness.py -k row_by_row",
    ),
    Mutant(
        "draws depend on the row's place in the stream, not in its chunk",
        "native/learn/first_order.cpp",
        "draws_.uniform(row.t, Purpose::admission)",
        "draws_.uniform(static_cast<std::int64_t>(row.row) + 1, Purpose::admission)",
        "test_exactness.py -k row_by_row",
    ),
    Mutant(
        "every thread's share of the columns is computed",
        "native/linalg/team.cpp",
        "if (begin < end) work(begin, end);",
        "if (begin < end && member == 0) work(begin, end);",
        "test_exactness.py -k any_split",
    ),
    Mutant(
        "a class exists only from its first row on",
        "native/learn/learner.cpp",
        "  Team team(batch.rows.count",
        "  for (std::size_t i = 0; i < batch.rows.count && config_.task == Task::multiclass; ++i)\n"
        "    if (batch.y[i] >= static_cast<double>(update_->outputs()))\n"
        "      update_->widen(static_cast<std::size_t>(batch.y[i]) + 1);\n"
        "  Team team(batch.rows.count",
        "test_exactness.py -k 'row_by_row and multiclass'",
    ),
    Mutant(
        "rows that wait for the end of their mini-batch are saved",
        "native/learn/first_order.cpp",
        '  archive.array("pending_slots", pending_slots_);',
        '  pending_slots_.clear();\n  pending_.clear();\n  archive.array("pending_slots", pending_slots_);',
        "test_exactness.py -k pickled_inside",
    ),
    Mutant(
        "the average takes in the newest function",
        "native/learn/function.cpp",
        "static_cast<double>(ticks_ + 1)",
        "static_cast<double>(ticks_ > 0 ? ticks_ : 1)",
        "test_average.py",
    ),
    Mutant(
        "the average ticks after learning, not before",
        "native/learn/first_order.cpp",
        "  Scored& row = judged.row;\n",
        "  Scored& row = judged.row;\n  function_.tick();\n",
        "test_average.py",
    ),
    Mutant(
        "folding the scale keeps the average",
        "native/learn/function.cpp",
        "c_[o][j] -= b_[o][j] * scale_sum_;",
        "c_[o][j] += b_[o][j] * scale_sum_;",
        "test_average.py",
    ),
    Mutant(
        "the budget holds",
        "native/learn/eviction/stop.cpp",
        "hold_.basis.size() < hold_.size",
        "hold_.basis.size() <= hold_.size",
        "test_memory.py -k after_every_row",
    ),
    Mutant(
        "a million rows leave nothing behind",
        "native/bind/bind.cpp",
        "delete static_cast<std::vector<T>*>(p);",
        "static_cast<void>(p);",
        "test_memory.py -k million",
    ),
    Mutant(
        "the learner stops before its function leaves the finite numbers",
        "native/learn/first_order.cpp",
        "return std::abs(v) <= far_out; })) return;",
        "return std::abs(v) <= far_out; }) || t > 0) return;",
        "test_bad_input.py -k 'divergence and False'",
    ),
    Mutant(
        "a row without weight does not count",
        "native/learn/learner.cpp",
        "        continue;\n",
        "        ++t_;\n        continue;\n",
        "test_labels.py -k without_weight",
    ),
    Mutant(
        "SPA's probability is capped at alpha / beta",
        "native/learn/admission.cpp",
        "std::min(alpha, row.weight * row.loss) / beta",
        "row.weight * row.loss / std::max(beta, alpha * 0)",
        "test_differential.py -k 'test_same_as_the_paper and SPA and float64'",
    ),
    Mutant(
        "a score of exactly 0 is a mistake",
        "native/learn/loss.cpp",
        "z <= 0;",
        "z < 0;",
        "test_labels.py test_losses.py -k 'zero or extreme'",
    ),
    Mutant(
        "the gradient is that of the loss",
        "native/learn/loss.cpp",
        "z < 1 ? -1.0 : 0.0",
        "z < 1 ? -1.5 : 0.0",
        "test_losses.py -k gradient",
    ),
    Mutant(
        "the random numbers are Philox's",
        "native/learn/draws.hpp",
        "0x9E3779B9",
        "0x9E3779BA",
        "test_draws.py",
    ),
    Mutant(
        "NaN is refused",
        "src/onkel/utils/validation.py",
        '    raise ValueError(f"Input {name} contains',
        '    return\n    raise ValueError(f"Input {name} contains',
        "test_bad_input.py -k 'change_nothing and OGD-regression-partial_fit-NaN'",
    ),
    Mutant(
        "a refused call changes nothing",
        "src/onkel/utils/validation.py",
        "        model.__dict__.update(before)\n",
        "        model.__dict__.update({name: before[name] for name in model.get_params()})\n",
        "test_bad_input.py -k 'change_nothing and OGD-binary-partial_fit-negative'",
    ),
    Mutant(
        "the function is projected on its ball",
        "native/learn/first_order.cpp",
        "  function_.scale(radius_ / std::sqrt(norm_squared_));\n",
        "",
        "test_theorems.py -k 'stays_in_its_ball and KLR-binary'",
    ),
    Mutant(
        "the tracked norm knows what a new point has in common with the old ones",
        "native/learn/first_order.cpp",
        "norm_squared_ += 2 * shrunk_ * along",
        "norm_squared_ += shrunk_ * along",
        "test_theorems.py -k 'drift and inside and float64'",
    ),
    Mutant(
        "the tracked norm shrinks with the function",
        "native/learn/first_order.cpp",
        "  norm_squared_ *= factor * factor;\n",
        "  norm_squared_ *= factor;\n",
        "test_theorems.py -k 'drift and shrinking and float64'",
    ),
    Mutant(
        "the tracked norm takes the new point after the shrink",
        "native/learn/first_order.cpp",
        "2 * shrunk_ * along",
        "2 * along",
        "test_theorems.py -k 'stays_in_its_ball and Pegasos'",
    ),
    Mutant(
        "a feature's dense column and its postings are the same numbers",
        "native/basis/sparse.cpp",
        "dense[points[i]] = values[i];",
        "dense[points[i]] = values[0];",
        "test_sparse.py -k 'as_the_dense or how_a_feature'",
    ),
    Mutant(
        "sparse sums are the same, however a feature is held",
        "native/basis/sparse.cpp",
        "      isa::routines<T>().axpy(x, feature.dense.data(), sums, feature.dense.size());\n",
        "      for (std::size_t j = 0; j < feature.dense.size(); ++j)\n"
        "        sums[j] = std::fma(x, feature.dense[j], sums[j]);\n",
        "test_sparse.py -k 'how_a_feature and not laplacian'",
    ),
    Mutant(
        "a dense column grows with its points",
        "native/basis/sparse.cpp",
        "    if (feature.dense.size() < room) feature.dense.resize(room, T{0});\n    feature.dense[index] = value;",
        "    if (index < feature.dense.size()) feature.dense[index] = value;",
        "test_sparse.py -k 'as_the_dense and rbf'",
    ),
    Mutant(
        "duplicates in a sparse row add up",
        "src/onkel/estimators/base.py",
        "            rows.sum_duplicates()\n",
        "            rows.sort_indices()\n",
        "test_sparse.py -k 'other_forms and duplicates'",
    ),
    Mutant(
        "a row of length 0 divides nothing",
        "native/learn/step.cpp",
        "reach > 0 ? std::min(most, row.loss / (reach + softness)) : 0.0",
        "std::min(most, row.loss / (reach + softness))",
        "test_kernels.py -k length_zero",
    ),
    Mutant(
        "OSKL weighs a step by its probability",
        "native/learn/step.cpp",
        "along_gradient(row, eta * row.weight / row.p)",
        "along_gradient(row, eta * row.weight)",
        "test_differential.py test_admission.py -k 'unbiased or (longer and OSKL and float64)'",
    ),
    Mutant(
        "the auxiliary learner steps along its own curve",
        "native/learn/admission.cpp",
        "    if (row.loss > 0) row.set_slope(slope(row.z));\n",
        "",
        "test_admission.py -k auxiliary_curve",
    ),
    Mutant(
        "a shape of 1 admits every row, also where both curves underflow",
        "native/learn/admission.cpp",
        "return log_shape == 0 ? 1.0 : softplus(-z)",
        "return softplus(-z)",
        "test_admission.py -k shape_of_one",
    ),
    Mutant(
        "the exponential loss is a number everywhere",
        "native/learn/loss.cpp",
        "std::exp(std::min(-z, 700.0))",
        "std::exp(-z)",
        "test_losses.py -k 'exponential and (extreme or capped)'",
    ),
    Mutant(
        "softmax sums over the other classes",
        "native/learn/loss.cpp",
        "  row.z -= std::log(-others);\n",
        "",
        "test_losses.py -k softmax",
    ),
    Mutant(
        "PA's step divides by the squared length of the whole gradient",
        "native/learn/step.cpp",
        "for (const double g : row.g) reach += g * g;",
        "for (const double g : row.g) reach = std::max(reach, g * g);",
        "test_differential.py -k 'longer and PA-multiclass-float64'",
    ),
    Mutant(
        "a class's weight multiplies its rows'",
        "src/onkel/estimators/targets.py",
        "factor if weight is None else factor * weight",
        "factor if weight is None else weight",
        "test_contract.py -k class_weight_is",
    ),
    Mutant(
        "a hook's stop ends the fit",
        "src/onkel/estimators/callbacks.py",
        "reconstruction_attributes=fitted)\n                return\n",
        "reconstruction_attributes=fitted)\n                break\n",
        "test_contract.py -k hook",
    ),
    Mutant(
        "an interrupted call knows only the classes it met",
        "src/onkel/estimators/targets.py",
        "            self.classes_ = self.classes_[: self._learner.n_outputs]",
        "            pass",
        "test_labels.py -k interrupted",
    ),
    Mutant(
        "persistence: any changed byte is noticed",
        "src/onkel/models/container.py",
        "    if digest.hexdigest().encode() != magic[2]:\n",
        "    if False:\n",
        "test_persistence.py -k changed_byte",
    ),
    Mutant(
        "persistence: a file is on the disk before its name is",
        "src/onkel/utils/files.py",
        "            os.fsync(file.fileno())\n",
        "",
        "test_persistence.py -k on_the_disk",
    ),
    Mutant(
        "persistence: a failed write leaves no litter",
        "src/onkel/utils/files.py",
        "            os.unlink(unfinished)\n",
        "            pass\n",
        "test_persistence.py -k leaves_the_old_file",
    ),
    Mutant(
        "persistence: a failed write leaves the old file",
        "src/onkel/utils/files.py",
        '        with open(unfinished, "xb") as file:\n',
        '        unfinished = target\n        with open(unfinished, "wb") as file:\n',
        "test_persistence.py -k leaves_the_old_file",
    ),
    Mutant(
        "persistence: arrays fill the file without overlap",
        "src/onkel/models/container.py",
        "        if offsets != [end, end + nbytes] or max(shape, default=0) > 2**62:\n",
        "        if False:\n",
        "test_persistence.py -k 'overlapping or huge'",
    ),
    Mutant(
        "persistence: no name twice",
        "src/onkel/models/container.py",
        "    if len(made) != len(pairs):\n",
        "    if False:\n",
        "test_persistence.py -k repeated",
    ),
    Mutant(
        "persistence: a later format is refused",
        "src/onkel/models/container.py",
        "    if int(magic[1]) != VERSION:\n",
        "    if False:\n",
        "test_persistence.py -k later_format",
    ),
    Mutant(
        "persistence: only the library's own classes are saved",
        "src/onkel/models/persistence.py",
        "    if known.get(type(model).__name__) is not type(model):\n",
        "    if False:\n",
        "test_persistence.py -k only_onkels",
    ),
    Mutant(
        "persistence: parts are of the kind that is asked for",
        "src/onkel/models/tree.py",
        "issubclass(kind, Part | tuple)",
        "issubclass(kind, tuple)",
        "test_persistence.py -k 'kernel and loss'",
    ),
    Mutant(
        "persistence: numbers are finite",
        "native/linalg/archive.hpp",
        "[](T v) { return std::isfinite(v); }",
        "[](T) { return true; }",
        "test_persistence.py -k 'NaN or infinite'",
    ),
    Mutant(
        "persistence: an array of no rows is not one that is missing",
        "native/linalg/archive.hpp",
        "    if (!loading()) return;\n",
        "    if (stored == nullptr) return;\n",
        "test_persistence.py -k 'without and number'",
    ),
    Mutant(
        "persistence: the counts of the parts agree",
        "native/learn/learner.cpp",
        "  fresh.check_rows();\n",
        "",
        "test_persistence.py -k 'birth or count or waiting'",
    ),
    Mutant(
        "persistence: no weight where there is no point",
        "native/learn/function.cpp",
        "archive.require(flat[o * columns_ + j] == 0, name",
        "archive.require(true, name",
        "test_persistence.py -k 'weight and point'",
    ),
    Mutant(
        "persistence: sparse points are in range",
        "native/basis/sparse.cpp",
        "archive.require(feature > last && feature <",
        "archive.require(feature > last || feature <",
        "test_persistence.py -k native_refuses_sparse",
    ),
    Mutant(
        "persistence: the average's sum is saved",
        "native/learn/function.cpp",
        '  archive.scalar("scale_sum", scale_sum_);\n',
        '  double none = 0.0;\n  archive.scalar("scale_sum", none);\n',
        "test_persistence.py -k another_process",
    ),
    Mutant(
        "persistence: the seed is saved",
        "src/onkel/learner.py",
        '        names = [name for name in made_of if name != "n_jobs"]\n',
        '        names = [name for name in made_of if name not in ("n_jobs", "seed")]\n',
        "test_persistence.py -k 'another_process and SPA'",
    ),
    Mutant(
        "persistence: files of version 1 load for ever",
        "native/learn/function.cpp",
        'archive.scalar("ticks", ticks_)',
        'archive.scalar("count", ticks_)',
        "test_persistence.py -k for_ever",
    ),
    Mutant(
        "persistence: whatever the bytes, a refusal is one sentence",
        "src/onkel/models/tree.py",
        "(TypeError, ValueError, KeyError, AttributeError, OverflowError, MemoryError)",
        "ValueError",
        "test_fuzz_files.py",
    ),
    Mutant(
        "persistence: no row is learned from twice",
        "src/onkel/models/checkpoint.py",
        "self.rows if place is None else end",
        "self.rows - 1 if place is None else end",
        "test_checkpoint.py -k killed",
    ),
    Mutant(
        "persistence: a row that was skipped is not skipped again",
        "src/onkel/models/checkpoint.py",
        "            skip -= begin\n",
        "            skip = 0\n",
        "test_checkpoint.py -k one_run",
    ),
    Mutant(
        "persistence: the place in the stream is the chunk's",
        "src/onkel/models/checkpoint.py",
        "                place = stream.position()\n",
        "                pass\n",
        "test_checkpoint.py -k position",
    ),
    Mutant(
        "persistence: what a crash left is removed",
        "src/onkel/models/checkpoint.py",
        "            litter.unlink(missing_ok=True)\n",
        "            pass\n",
        "test_checkpoint.py -k 'killed and step'",
    ),
    Mutant(
        "persistence: two sound checkpoints are kept",
        "src/onkel/models/checkpoint.py",
        "            if old not in self._sound:\n",
        "            if old not in self.paths()[-self.keep :]:\n",
        "test_checkpoint.py -k spoilt_ones",
    ),
    Mutant(
        "persistence: a spoilt checkpoint is passed over",
        "src/onkel/models/checkpoint.py",
        "            except (ValueError, OSError) as error:\n",
        "            except OSError as error:\n",
        "test_checkpoint.py -k passed_over",
    ),
    Mutant(
        "numbers of LIBSVM text are exact",
        "native/io/libsvm.cpp",
        "digits <= std::uint64_t{1} << 53",
        "digits <= std::uint64_t{1} << 60",
        "test_libsvm.py -k exact",
    ),
    Mutant(
        "an index of LIBSVM text must not come twice",
        "native/io/libsvm.cpp",
        "if (index <= previous) {",
        "if (index < previous) {",
        "test_libsvm.py -k twice",
    ),
    Mutant(
        "a line waits until it is whole",
        "native/io/libsvm.cpp",
        "      if (!last) break;\n",
        "      (void)last;\n",
        "test_libsvm.py -k 'buffers or whole_line'",
    ),
    Mutant(
        "rows before a wrong line are handed out first",
        "src/onkel/streams/_text.py",
        'if chunk is None or self.on_error == "skip":',
        "if True:",
        "test_libsvm.py -k wrong_line_stops",
    ),
    Mutant(
        "a position counts the bytes that are read but not used",
        "src/onkel/streams/_text.py",
        "self._bytes.at - len(self._text) + self._used",
        "self._bytes.at - len(self._text)",
        "test_streams.py -k position",
    ),
    Mutant(
        "zeros count for a scaler, sparse or dense",
        "native/io/scaler.cpp",
        "  if (s.seen[feature] == n) return {mean, squares};\n",
        "  return {mean, squares};\n",
        "test_scalers.py -k same",
    ),
    Mutant(
        "a scaler has seen the rows that its estimator has learned from, and no others",
        "src/onkel/streams/pipeline.py",
        "counted[:learned]",
        "counted",
        "test_scalers.py -k interrupted",
    ),
    Mutant(
        "rows of weight 0 do not count for a scaler",
        "native/io/scaler.cpp",
        "if (learn && (!counts || counts[row])) {",
        "if (learn) {",
        "test_scalers.py -k weight_zero",
    ),
    Mutant(
        "a drawn row is a function of its number",
        "src/onkel/streams/generators.py",
        "counter=begin * blocks",
        "counter=begin",
        "test_generators.py -k places",
    ),
    Mutant(
        "what is fetched is checked",
        "src/onkel/streams/datasets/_store.py",
        "    if digest != expected:\n",
        "    if not digest:\n",
        "test_datasets.py -k 'checked or refused'",
    ),
    Mutant(
        "each of several kernels draws for itself",
        "native/learn/learner.cpp",
        "Draws{config.seed, stream}, basis);",
        "Draws{config.seed, 0 * stream}, basis);",
        "test_multikernel.py -k 'longer_stream and SPA'",
    ),
    Mutant(
        "a kernel that says nothing is at fault",
        "native/learn/hedge.cpp",
        "return y * f[0] <= 0 ? 1.0 : 0.0;",
        "return y * f[0] < 0 ? 1.0 : 0.0;",
        "test_multikernel.py -k 'longer_stream or same_as_the_paper'",
    ),
    Mutant(
        "a row that several kernels take in is held once",
        "native/basis/pool.cpp",
        "if (position != newest_) {",
        "if (position >= 0) {",
        "test_multikernel.py -k longer_stream",
    ),
    Mutant(
        "a point leaves the pool with its last holder",
        "native/basis/pool.cpp",
        "  points_.erase(slot, false);\n",
        "",
        "test_multikernel.py -k 'longer_stream or dropping'",
    ),
    Mutant(
        "the budget of several kernels is for all of them",
        "native/learn/hedge.cpp",
        "const std::size_t room = budget_ > others ? budget_ - others : 0;",
        "const std::size_t room = budget_;",
        "test_multikernel.py -k never_above",
    ),
    Mutant(
        "the weights of several kernels stay weights",
        "native/learn/hedge.cpp",
        "logs_[i] -= most;",
        "logs_[i] -= 0 * most;",
        "test_multikernel.py -k million",
    ),
    Mutant(
        "a kernel that fails at a row leaves the others as they were",
        "native/learn/hedge.cpp",
        "    faults_[i] = fault(judged_.back().row, highest - lowest);\n",
        "    faults_[i] = fault(judged_.back().row, highest - lowest);\n"
        "    members_[i].learner->act(judged_.back());\n",
        "test_multikernel.py -k failing_kernel",
    ),
    Mutant(
        "a stochastic hedge changes the weights of visited kernels only",
        "native/learn/hedge.cpp",
        "if (!visited && predicted.empty()) continue;",
        "if (!visited) continue;",
        "test_multikernel.py -k 'longer_stream and stochastic'",
    ),
    Mutant(
        "a broken inverse is built again",
        "native/learn/eviction/span.cpp",
        "if (gram_.remove(position)) return moved;",
        "if (gram_.remove(position) || true) return moved;",
        "test_gram.py -k spoiled",
    ),
    Mutant(
        "BOGD's loss stays below the bounds of its theorems",
        "native/learn/eviction/resample.cpp",
        "return factor * length;",
        "return 0.5 * factor * length;",
        "test_theorems.py -k bogd_theorems",
    ),
    Mutant(
        "BOGD++ draws with probabilities that add up to 1",
        "native/learn/eviction/resample.cpp",
        "level = now.sum / (free - 1);",
        "level = now.sum / free;",
        "test_budget_rules.py -k bogd_probabilities",
    ),
    Mutant(
        "a newcomer takes the first hole",
        "native/basis/basis.cpp",
        "no_hole_before_ = std::min(no_hole_before_, index);",
        "no_hole_before_ = index;",
        "test_differential.py -k 'RBP and float64'",
    ),
    Mutant(
        "NPBSGD's leaver is projected on its nearest",
        "native/learn/eviction/project_on_nearest.cpp",
        "      project(leaves);\n",
        "",
        "test_differential.py -k NPBSGD-project-binary-float64",
    ),
    Mutant(
        "export: ONNX moves rows by the mean of the points before it multiplies",
        "src/onkel/models/export/onnx.py",
        "centre = (shift + points.mean(axis=0) / factor)",
        "centre = (0 * shift)",
        "test_export.py -k large_mean",
    ),
    Mutant(
        "export: what ONNX rounds of the mean is made up for",
        "src/onkel/models/export/onnx.py",
        "    moved = (centre - shift) * factor",
        "    moved = points.mean(axis=0)",
        "test_export.py -k large_mean",
    ),
    Mutant(
        "export: ONNX computes with large coefficients in float64",
        "src/onkel/models/export/onnx.py",
        "MOST_FOR_FLOAT32 = 80.0",
        "MOST_FOR_FLOAT32 = 1e80",
        "test_export.py -k large_coefficients",
    ),
    Mutant(
        "export: a kernel without an opinion does not vote",
        "src/onkel/models/export/c.py",
        "if (speaks) scores",
        "if (speaks >= 0) scores",
        "test_export.py -k 'no_opinion'",
    ),
    Mutant(
        "export: LIBSVM's constant is kept through rho",
        "src/onkel/models/export/libsvm.py",
        "[0.0 - function.constants[0]]",
        "[0.0]",
        "test_importers.py -k there_and_back",
    ),
    Mutant(
        "export: LIBSVM decides between two classes by the difference of their scores",
        "src/onkel/models/export/libsvm.py",
        "function.constants[j] - function.constants[i]",
        "function.constants[i] - function.constants[j]",
        "test_export.py -k svm_predict",
    ),
    Mutant(
        "import: a positive value speaks for LIBSVM's first label",
        "src/onkel/models/importers.py",
        "if labels[0] < labels[1]:",
        "if labels[0] > labels[1]:",
        "test_importers.py -k either_label",
    ),
    Mutant(
        "import: a ball knows the norm of a function from elsewhere",
        "native/learn/first_order.cpp",
        "  if (radius_ != 0) norm_squared_ = function_.norm_squared(basis_);",
        "",
        "test_importers.py -k ball",
    ),
    Mutant(
        "Platt: a row is predicted before it is learned from",
        "src/onkel/estimators/platt.py",
        "            before = sigmoids.log_odds(seen)\n            made[i, : len(before)] = before\n"
        "            if counts[i]:\n                sigmoids.learn(seen, int(codes[i]), "
        "1.0 if weight is None else float(weight[i]))\n",
        "            if counts[i]:\n                sigmoids.learn(seen, int(codes[i]), "
        "1.0 if weight is None else float(weight[i]))\n"
        "            before = sigmoids.log_odds(seen)\n            made[i, : len(before)] = before\n",
        "test_platt.py -k before_it_is_learned",
    ),
    Mutant(
        "Platt: targets are regularised",
        "src/onkel/estimators/sigmoids.py",
        "target = (n_own + 1.0) / (n_own + 2.0)",
        "target = 1.0",
        "test_platt.py -k reference",
    ),
    Mutant(
        "Platt: a class has a score from the row on that brought it",
        "src/onkel/estimators/platt.py",
        "    if inner._open:",
        "    if False:",
        "test_platt.py -k cutting",
    ),
    Mutant(
        "River: the order of features in a record does not matter",
        "src/onkel/river.py",
        "new = sorted((name for name in names if name not in self.of), key=_by_name)",
        "new = [name for name in names if name not in self.of]",
        "test_river.py -k 'order_of_features'",
    ),
    Mutant(
        "River: a prediction gives no column to a feature",
        "src/onkel/river.py",
        "        row = self._columns.row(x, learn=False)",
        "        row = self._columns.row(x, learn=True)",
        "test_river.py -k prediction_changes_nothing",
    ),
    Mutant(
        "River: a refused record leaves no label behind",
        "src/onkel/river.py",
        "        made = self._learn_row(x, code, w, scores)\n        if w:",
        "        self._codes.setdefault(y, code)\n        made = self._learn_row(x, code, w, scores)\n        if w:",
        "test_river.py -k refused_and_change_nothing",
    ),
    Mutant(
        "a batch learner's gap bounds its distance from the minimum",
        "src/onkel/batch/_lbfgs.py",
        "gap = primal - dual",
        "gap = 0.1 * (primal - dual)",
        "test_batch.py -k 'gap or optimum'",
    ),
    Mutant(
        "a step of primal coordinate descent never goes up",
        "src/onkel/batch/_descent.py",
        "np.log1p(k * abs(d) / h) / k",
        "abs(d) / h",
        "test_batch.py -k never_goes_up",
    ),
    Mutant(
        "the gap of dual coordinate descent is that of its own problem",
        "src/onkel/batch/_descent.py",
        "entr(alpha) + entr(1 - alpha)",
        "entr(alpha)",
        "test_batch.py -k gap",
    ),
    Mutant(
        "the hinge is reached, not its smooth neighbour",
        "src/onkel/batch/_lbfgs.py",
        "sharpness /= 4",
        "return",
        "test_batch.py -k hinge",
    ),
    Mutant(
        "a row that the import vectors span does not join them",
        "src/onkel/batch/_import_vectors.py",
        "left > 1e-9 * h",
        "left > -1",
        "test_batch.py -k repeated",
    ),
    Mutant(
        "the import vector that joins is the one that lowers the objective most",
        "src/onkel/batch/_import_vectors.py",
        "gains.argmax()",
        "gains.argmin()",
        "test_batch.py -k 'few or repeated'",
    ),
    Mutant(
        "a kernel matrix that does not fit is refused",
        "src/onkel/batch/_base.py",
        "self.fits = self.megabytes <= memory_mb",
        "self.fits = True",
        "test_batch.py -k too_many",
    ),
    Mutant(
        "interlaced images are read in the order of lines",
        "src/onkel/reproduce/_textons.py",
        "if not flags & 64:",
        "if True:",
        "test_textons.py -k read",
    ),
    Mutant(
        "textons do not see contrast",
        "src/onkel/reproduce/_textons.py",
        "(image - image.mean()) / max(float(image.std()), 1e-6)",
        "image",
        "test_textons.py -k contrast",
    ),
    Mutant(
        "the POLK paper's errors are means over the last rows",
        "src/onkel/reproduce/_polk_cells.py",
        "share = n_late / len(stops)",
        "share = 1.0",
        "test_reproduce_batch.py -k late",
    ),
]


class Workshop:
    """A copy of the project, its build directory, and where its package is installed."""

    def __init__(self, folder: Path) -> None:
        self.project, self.build, self.packages = folder / "project", folder / "build", folder / "packages"
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".pytest_cache", ".*_cache")
        shutil.copytree(ROOT, self.project, ignore=ignored)

    def install(self) -> str:
        """Build and install; return the compiler's complaint, if any."""
        shutil.rmtree(self.packages, ignore_errors=True)
        options = ["--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
        options.append(f"-Cbuild-dir={self.build}")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, "--target", self.packages, self.project],
            capture_output=True,
            text=True,
            # cmake and ninja may be the ones that pip put beside this interpreter
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def tests_pass(self, words: str) -> bool:
        done = subprocess.run(
            f"{sys.executable} -m pytest -x -q -p no:cacheprovider {words}",
            shell=True,
            cwd=self.project / "tests",
            env=os.environ | {"PYTHONPATH": str(self.packages)},
            capture_output=True,
            text=True,
        )
        if done.returncode > 1:  # not a failed test but no test at all, or a crash of pytest itself
            lines = done.stdout.strip().splitlines()
            # a crash of the broken core is a way to fail, too
            assert done.returncode > 128 or "Fatal" in done.stderr, f"pytest {words}: {lines[-1] if lines else '?'}"
        return done.returncode == 0


def outcome(shop: Workshop, mutant: Mutant) -> str:
    """Return what went wrong, or nothing."""
    source = shop.project / mutant.file
    text = source.read_text()
    if mutant.old not in text:
        return f"its text is not in {mutant.file}"
    source.write_text(text.replace(mutant.old, mutant.new))
    try:
        complaint = shop.install()
        if complaint:
            return f"does not compile: {complaint.splitlines()[-1]}"
        return f"{mutant.tests} passes without it" if shop.tests_pass(mutant.tests) else ""
    finally:
        source.write_text(text)


def main() -> int:
    for needed in ("scikit_build_core", "nanobind", "pytest", "hypothesis"):
        if importlib.util.find_spec(needed) is None:
            print(f"tests/mutants.py needs {needed} in this environment (make test puts it there)")
            return 2
    chosen = [m for m in MUTANTS if " ".join(sys.argv[1:]) in m.promise]
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        complaint = shop.install()
        if complaint:
            print(complaint)
            return 2
        unsound = [words for words in dict.fromkeys(m.tests for m in chosen) if not shop.tests_pass(words)]
        for words in unsound:
            print(f"fails before anything is broken: {words}", flush=True)
        failed = 0
        for mutant in chosen:
            wrong = outcome(shop, mutant) if mutant.tests not in unsound else "its tests fail anyway"
            failed += bool(wrong)
            print(f"{'FAILED' if wrong else 'caught'}  {mutant.promise}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
