"""Tables with columns of any type become rows of numbers, in one pass and the same whatever the chunks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from onkel.inside import Inside
from onkel.preprocess import column_kinds, deciding
from onkel.preprocess import targets as by_target
from onkel.preprocess.kept import kept_rows, table_of_kept
from onkel.preprocess.targets import Targets
from onkel.streams.table import Table
from onkel.streams.values import Refused, shown
from onkel.utils.turns import in_turn
from onkel.utils.validation import (
    check_choice,
    check_feature_names,
    check_number,
    unchanged_if_refused,
    with_parameters,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Encoding:
    """All that an encoder has learned; replaced as a whole, never changed."""

    kinds: tuple[str, ...]  # of the columns, as they are encoded
    found: tuple[str, ...]  # what the values so far were: "" before the first
    columns: tuple[column_kinds.State, ...]
    rows: int = 0  # that were learned from
    first: Table | None = None  # these rows, until the kinds are settled
    counts: deciding.Counts | None = None  # of what their values are, a row for each column
    again: int = 0  # so many rows are learned from again, by which the kinds are decided already
    settled: bool = False
    n_targets: int = 0  # columns in which a category is encoded by its targets, where a pipeline has some


class StreamEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode tables as rows of numbers, by one pass over a stream.

    Numbers are standardised, categories get a column for each value, booleans are 0 and 1, dates become points on the
    circles of the year, the week and the day and the years elapsed, gaps become the mean so far and an indicator. What
    a column is comes from the `schema`, otherwise from its first 4,096 rows, which are kept until then: it is what at
    least 95 % of its values are. Others are strays, such as "unknown" among numbers: they are gaps, counted in
    `strays_` and warned about. How the rows are cut into calls changes no bit.

    In a `StreamPipeline`, a category with more values than columns also says what its values mean for the target: the
    mean target of each value, shrunk towards that of all rows, by the rows before a row's own.

    Parameters
    ----------
    schema : dict of str to str, default=None
        The kinds of some columns, by name: "number", "boolean", "date", "category", "text" (words, hashed into
        `max_categories` columns) or "drop". A question mark after it ("number?") gives gaps an indicator. The other
        columns are what their first 4,096 values are, with an indicator where one of these is missing.
    max_categories : int, default=32
        A value of a category takes the next free column when it first appears, up to so many; the others share one,
        and in a pipeline all count by their mean target then.
    dtype : {"float64", "float32"}, default="float64"
        Of the rows of numbers.

    Attributes
    ----------
    schema_ : dict of str to str
        The kinds of all columns, those found so far.
    categories_ : dict of str to list of str
        The values of each category that have columns, in the order of their appearance.
    strays_ : dict of str to int
        How many values of another kind were taken as gaps, for each column that had some.
    n_samples_seen_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    make_stream_pipeline : An encoder before an estimator.

    Examples
    --------
    >>> import onkel
    >>> encoder = onkel.StreamEncoder(max_categories=2)
    >>> encoder.partial_fit_transform({"age": [30, None, 50], "town": ["Bern", "Chur", "Bern"]})
    array([[0., 0., 1., 0., 0.],
           [0., 1., 0., 1., 0.],
           [1., 0., 1., 0., 0.]])
    >>> encoder.schema_, encoder.get_feature_names_out().tolist()
    ({'age': 'number?', 'town': 'category'}, ['age', 'age missing', 'town=Bern', 'town=Chur', 'town others'])
    """

    _statistics: Encoding

    def __init__(
        self, *, schema: dict[str, str] | None = None, max_categories: int = 32, dtype: str = "float64"
    ) -> None:
        self.schema = schema
        self.max_categories = max_categories
        self.dtype = dtype

    # -- learning

    @in_turn
    def fit(self, X: object, y: object = None) -> Self:
        """Learn from scratch; the first 4,096 of these rows decide the columns' kinds.

        Parameters
        ----------
        X : data frame of pandas or polars, Arrow table, Table, dict of columns, list of dicts or matrix
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_if_refused(self):
            for name in [name for name in vars(self) if name.endswith("_") or name == "_statistics"]:
                delattr(self, name)
            _, self._statistics = self._fitted(X)
        self.warn_of_strays(())
        return self

    def _fitted(self, X: object, counts: Flags | None = None, targets: Targets | None = None) -> tuple[Any, Encoding]:
        """The rows, all encoded by what is known after the last, and what is known: `fit` has all rows before it, but
        for the targets, of which each row has those of the rows before it."""
        table = self._validated(X, first=True)
        flags = np.ones(len(table), bool) if counts is None else counts
        blank, values = self._blank(targets), _counts_of(table[np.flatnonzero(flags)[: deciding.FIRST_ROWS]])
        found = self._or_schema([deciding.decided(each) for each in values], blank.found)
        kinds = self._or_schema([_layout(*each) for each in zip(found, _gaps(found, values), strict=True)], blank.kinds)
        known = self._pass(table, replace(self._with_kinds(blank, kinds, found), settled=True, counts=None), flags)[1]
        return self._pass(table, known, None, targets)

    def partial_fit(self, X: object, y: object = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : as for `fit`
        y : ignored

        Returns
        -------
        self
        """
        self.partial_fit_transform(X)
        return self

    @in_turn
    def partial_fit_transform(self, X: object, y: object = None) -> Any:
        """Learn from more rows; encode each by what is known of the rows up to itself.

        Where these rows show that a column is of another kind than so far, all of them are encoded as what it is
        after the last.

        Parameters
        ----------
        X : as for `fit`
        y : ignored

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        before = self.worth_telling()
        rows, self._statistics = self._learned(X)
        self.warn_of_strays(before)
        return rows

    def worth_telling(self) -> dict[str, str]:
        """Return a sentence for each column that has strays."""
        if not hasattr(self, "_statistics"):
            return {}
        known, notes = self._statistics, {}
        for i, (name, state) in enumerate(zip(self.feature_names_in_.tolist(), known.columns, strict=True)):
            strays = int(state["strays"][0]) if "strays" in state else 0
            if strays:
                bare, verb = column_kinds.split(known.kinds[i])[0], "is" if strays == 1 else "are"
                notes[name] = (
                    f"column {name!r} is of kind {bare!r}, and {strays:,} of its first {known.rows:,} values {verb} "
                    f"something else, such as {state['such_as'][0]}: these are gaps (a schema says what a column is)"
                )
        return notes

    def warn_of_strays(self, before: Container[str]) -> None:
        """Warn of the columns that have strays, and that were not warned of before."""
        for name, sentence in self.worth_telling().items():
            if name not in before:
                warnings.warn(sentence, DataConversionWarning, stacklevel=4)

    def transform(self, X: object) -> Any:
        """Encode rows by what has been learned so far.

        Parameters
        ----------
        X : as for `fit`
            Columns are found by their names.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        table = self._validated(X, first=False)
        rows, _, with_strays = self._encoded(table, self._statistics, None)
        for i in with_strays:  # the same words for all values: whoever serves a model hears of a column once
            kind = column_kinds.split(self._statistics.kinds[i])[0]
            warnings.warn(
                f"column {table.names[i]!r} is of kind {kind!r}, and some values are something else: these are gaps",
                DataConversionWarning,
                stacklevel=3,
            )
        return rows

    def _learned(self, X: object, counts: Flags | None = None, targets: Targets | None = None) -> tuple[Any, Encoding]:
        """The rows and what is known after them, which is not taken over yet; rows that do not count are encoded."""
        first = not hasattr(self, "_statistics")
        with unchanged_if_refused(self):
            table = self._validated(X, first=first)
            flags = np.ones(len(table), bool) if counts is None else counts
            before = self._blank(targets) if first else self._statistics
            changes = self.changes(table, flags)
            if not changes:
                return self._pass(table, before, flags, targets)
            fresh = self._with_kinds(before, *changes[-1][1:])
            kept = before.first
            if kept is not None and len(kept):
                _, fresh = self._pass(kept, fresh, np.ones(len(kept), bool))
            return self._pass(table, fresh, flags, targets)

    def taught(self, X: object, targets: Targets) -> tuple[Any, Self]:
        """Return rows, and an encoder of the same columns that knows their targets too: each row as if they were
        learned from in order.

        Parameters
        ----------
        X : as for `fit`
        targets : Targets
        """
        other, known = copy.copy(self), self._known()
        states = [
            column_kinds.blank(kind, targets.n_columns) | state
            for kind, state in zip(known.kinds, known.columns, strict=True)
        ]
        known = replace(known, columns=tuple(states), n_targets=targets.n_columns)
        rows, other._statistics = self._pass(self._validated(X, first=False), known, None, targets)
        return rows, other

    def changes(self, table: Table, counts: Flags) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        """Return the rows from which on columns are something else, each with the kinds and what was found so far."""
        known = self._statistics if hasattr(self, "_statistics") else self._blank()
        if known.settled or known.counts is None or known.rows < known.again:
            return []
        rows = np.flatnonzero(counts)[: deciding.FIRST_ROWS - known.rows]
        at: dict[int, dict[int, tuple[str, bool]]] = {}  # columns that may change, by the places of rows
        for i, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
            if name not in (self.schema or {}):
                codes = deciding.value_codes(column[rows], not table.typed)
                for place, what in deciding.course(known.found[i], known.counts[i], codes, known.rows).items():
                    at.setdefault(place, {})[i] = what
        changes = []
        found, kinds = list(known.found), list(known.kinds)
        for place in sorted(at):
            before = (*found,), (*kinds,)
            for i, (kind, gaps) in at[place].items():
                found[i], kinds[i] = kind, _layout(kind, gaps)
            if before != ((*found,), (*kinds,)):
                changes.append((int(rows[place]), tuple(kinds), tuple(found)))
        return changes

    def restarted(self, kinds: tuple[str, ...], found: tuple[str, ...]) -> Self:
        """Return an encoder of the same columns, of these kinds, that will learn from the rows kept again."""
        fresh = type(self)(**self.get_params(deep=False))
        for name in ("n_features_in_", "feature_names_in_"):
            setattr(fresh, name, getattr(self, name))
        again = 0 if self.kept is None else len(self.kept)
        blank = replace(self._blank(), n_targets=self._statistics.n_targets)
        fresh._statistics = replace(self._with_kinds(blank, kinds, found), again=again)
        return fresh

    def settled(self) -> Self:
        """Return an encoder that knows the same, and to which the columns stay what they have been so far.

        Examples
        --------
        >>> import onkel
        >>> encoder = onkel.StreamEncoder().partial_fit({"x": [1.0, 2.0]})
        >>> encoder.settled().partial_fit({"x": [2**0.5] * 9}).schema_
        {'x': 'number'}
        """
        check_is_fitted(self)
        copied = copy.copy(self)
        copied._statistics = replace(self._statistics, first=None, settled=True, counts=None)
        return copied

    @classmethod
    def merged(cls, encoders: Sequence[Self]) -> Self:
        """Return an encoder that knows what all of these know, as of all their rows, one stream behind the other.

        Parameters
        ----------
        encoders : sequence of StreamEncoder
            Fitted, of equal parameters and columns. Where a column is not the same to all of them, those to which it is
            something else must still have their first rows.

        Returns
        -------
        StreamEncoder

        Examples
        --------
        >>> import onkel
        >>> parts = [onkel.StreamEncoder().partial_fit({"x": x}) for x in ([1.0, 2.0], [6.0])]
        >>> onkel.StreamEncoder.merged(parts).transform({"x": [3.0]})
        array([[0.]])
        """
        if not encoders:
            raise ValueError("merged needs at least one encoder")
        one = encoders[0]
        for each in encoders:
            check_is_fitted(each)
        names = one.feature_names_in_.tolist()
        for other in encoders[1:]:
            if one.get_params(deep=False) != other.get_params(deep=False):
                raise ValueError("encoders of different parameters cannot be merged")
            if set(other.feature_names_in_.tolist()) != set(names):
                raise ValueError(f"encoders of different columns cannot be merged: expected {', '.join(names)}")
        known = [other._in_order(names) for other in encoders]
        if len({each.n_targets for each in known}) > 1:
            raise ValueError("encoders of different targets cannot be merged")
        counts = np.sum([each.counts for each in known if each.counts is not None] or _no_counts(names), axis=0)
        fixed = [each for each in known if each.settled]
        agreed = [{each.found[i] for each in fixed} - {""} for i in range(len(names))]
        found = one._or_schema([_agreed(*each) for each in zip(agreed, counts, strict=True)], known[0].found)
        gaps = [any(each.kinds[i].endswith("?") for each in fixed) for i in range(len(names))]
        marked = [_layout(*each) for each in zip(found, np.array(_gaps(found, counts)) | gaps, strict=True)]
        kinds = one._or_schema(marked, known[0].kinds)
        known = [one._relearned(each, kinds, found) for each in known]
        columns = tuple(
            column_kinds.merged(kind, [each.columns[i] for each in known], one.max_categories)
            for i, kind in enumerate(kinds)
        )
        rows, kept = sum(each.rows for each in known), [each.first for each in known if each.first is not None]
        settled = any(each.settled for each in known) or rows >= deciding.FIRST_ROWS
        merged = one.restarted(kinds, found)
        first = None if settled or not kept else Table.joined(kept)
        merged._statistics = Encoding(
            kinds,
            found,
            columns,
            rows,
            first,
            counts=None if settled else counts,
            settled=settled,
            n_targets=known[0].n_targets,
        )
        return merged

    def _in_order(self, names: list[str]) -> Encoding:
        """What is known, with the columns in another order."""
        known, own = self._known(), self.feature_names_in_.tolist()
        order = [own.index(name) for name in names]
        kinds, found, columns = (tuple(each[i] for i in order) for each in (known.kinds, known.found, known.columns))
        first = None if known.first is None else known.first.of_names(names)
        counts = None if known.counts is None else known.counts[order]
        return replace(known, kinds=kinds, found=found, columns=columns, first=first, counts=counts)

    def _relearned(self, known: Encoding, kinds: tuple[str, ...], found: tuple[str, ...]) -> Encoding:
        """What is known of the same rows where columns are of these kinds."""
        pairs = zip(self.feature_names_in_.tolist(), known.kinds, kinds, strict=True)
        other = next(
            (name for name, own, kind in pairs if column_kinds.split(own)[0] != column_kinds.split(kind)[0]), None
        )
        if other is None:  # whether gaps have an indicator is no matter of statistics
            return replace(known, kinds=kinds, found=found)
        if known.first is None:
            raise ValueError(
                f"encoders to which column {other!r} is of different kinds cannot be merged: give a schema"
            )
        return self._pass(known.first, self._with_kinds(known, kinds, found), np.ones(len(known.first), bool))[1]

    @property
    def kept(self) -> Table | None:
        """The first rows, until the kinds are settled."""
        return self._statistics.first if hasattr(self, "_statistics") else None

    def _with_kinds(self, known: Encoding, kinds: tuple[str, ...], found: tuple[str, ...]) -> Encoding:
        blank = tuple(column_kinds.blank(kind, known.n_targets) for kind in kinds)
        counts = _no_counts(kinds)[0]
        return replace(known, kinds=kinds, found=found, columns=blank, rows=0, first=None, counts=counts)

    def _or_schema(self, values: Sequence[str], given: tuple[str, ...]) -> tuple[str, ...]:
        """The values of all columns, but those that are given where the schema names a column."""
        named = [name in (self.schema or {}) for name in self.feature_names_in_]
        return tuple(own if fixed else value for fixed, own, value in zip(named, given, values, strict=True))

    def _blank(self, targets: Targets | None = None) -> Encoding:
        schema = self.schema or {}
        kinds = tuple(schema.get(name, "category") for name in self.feature_names_in_)
        found = tuple(
            "" if name not in schema else column_kinds.split(schema[name])[0] for name in self.feature_names_in_
        )
        all_given = all(name in schema for name in self.feature_names_in_)
        n_targets = 0 if targets is None else targets.n_columns
        blank = tuple(column_kinds.blank(kind, n_targets) for kind in kinds)
        counts = None if all_given else _no_counts(kinds)[0]
        return Encoding(kinds, found, blank, settled=all_given, counts=counts, n_targets=n_targets)

    def _pass(
        self, table: Table, known: Encoding, counts: Flags | None, targets: Targets | None = None
    ) -> tuple[Any, Encoding]:
        """The rows as numbers, and what is known after them."""
        return self._encoded(table, known, counts, targets)[:2]

    def _encoded(
        self, table: Table, known: Encoding, counts: Flags | None, targets: Targets | None = None
    ) -> tuple[Any, Encoding, list[int]]:
        """The rows as numbers, what is known after them, and the columns that have strays."""
        widths = self._widths(known)
        ends = np.cumsum(widths)
        rows = np.zeros((len(table), int(ends[-1])))
        columns, with_strays = [], []
        for i, (kind, state, column) in enumerate(zip(known.kinds, known.columns, table.columns, strict=True)):
            out = rows[:, ends[i] - widths[i] : ends[i]]
            try:
                after, has_strays = column_kinds.encode(
                    kind, state, column, not table.typed, out, counts, self.max_categories, targets
                )
            except Refused as refused:
                row = refused.row + (known.rows if counts is not None else 0)
                raise ValueError(
                    f"X contains {shown(refused.value)} at row {row}, column {i} ({table.names[i]!r}); "
                    f"expected {refused.expected}"
                ) from None
            columns.append(after)
            with_strays += [i] * has_strays
        result = rows.astype(self.dtype, copy=False)
        if counts is None:
            return result, replace(known, columns=tuple(columns)), with_strays
        return result, self._after(known, tuple(columns), table, counts), with_strays

    def _after(self, known: Encoding, columns: tuple[column_kinds.State, ...], table: Table, counts: Flags) -> Encoding:
        rows = known.rows + int(np.count_nonzero(counts))
        if known.counts is None or rows >= deciding.FIRST_ROWS:
            return replace(known, columns=columns, rows=rows, first=None, settled=True, counts=None)
        new = table[counts]
        first = new if known.first is None else Table.joined([known.first, new])
        return replace(known, columns=columns, rows=rows, first=first, counts=_counts_of(new) + known.counts)

    def _validated(self, X: object, *, first: bool) -> Table:
        self._check_parameters()
        table = Table.of(X)
        if table.shape[1] == 0:
            raise ValueError("X has no columns: expected at least one")
        if first:
            unknown = next((name for name in self.schema or {} if name not in table.names), None)
            if unknown is not None:
                raise ValueError(f"X has no column {unknown!r}, which the schema names")
            self.n_features_in_ = len(table.names)
            self.feature_names_in_ = np.array(table.names, object)
            return table
        return table.of_names(self.feature_names_in_.tolist())

    def _check_parameters(self) -> None:
        check_number("max_categories", self.max_categories, at_least=1, at_most=2**20, integer=True)
        check_choice("dtype", self.dtype, ("float64", "float32"))
        if self.schema is not None and not isinstance(self.schema, dict):
            raise ValueError(f"schema must be a dict of columns' names and kinds, got {self.schema!r}")
        for name, kind in (self.schema or {}).items():
            check_choice(f"the kind of column {name!r}", kind, [k + q for k in column_kinds.KINDS for q in ("", "?")])

    # -- what is known

    def _known(self) -> Encoding:
        check_is_fitted(self)
        return self._statistics

    @property
    def schema_(self) -> dict[str, str]:
        """The kinds of all columns, those found so far."""
        return dict(zip(self.feature_names_in_.tolist(), self._known().kinds, strict=True))

    @property
    def categories_(self) -> dict[str, list[str]]:
        """The values of each category that have columns."""
        named = zip(self.feature_names_in_.tolist(), self._known().columns, strict=True)
        return {name: list(state["words"]) for name, state in named if "words" in state}

    @property
    def strays_(self) -> dict[str, int]:
        """How many values of another kind were taken as gaps, for each column that had some."""
        named = zip(self.feature_names_in_.tolist(), self._known().columns, strict=True)
        return {name: int(state["strays"][0]) for name, state in named if "strays" in state and state["strays"][0]}

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned from."""
        return self._known().rows

    @property
    def n_features_out_(self) -> int:
        """Number of columns of the rows of numbers."""
        return sum(self._widths(self._known()))

    def _widths(self, known: Encoding) -> list[int]:
        return [column_kinds.width(kind, self.max_categories, known.n_targets) for kind in known.kinds]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return what the columns of numbers are called."""
        known = self._known()
        named = zip(self.feature_names_in_.tolist(), known.kinds, known.columns, strict=True)
        return np.array(
            [out for n, k, s in named for out in column_kinds.out_names(n, k, s, self.max_categories)], object
        )

    def sums_by_column(self, values: Floats) -> Floats:
        """Return the sum of the values that belong to what each column of the table becomes."""
        ends = np.cumsum(self._widths(self._known()))
        return np.array([part.sum() for part in np.split(values, ends[:-1])])

    def inverse_factors(self) -> tuple[Floats, Floats]:
        """Return the factors and shifts of the way back, where all columns are numbers without gaps."""
        other = next(((n, k) for n, k in self.schema_.items() if k != "number"), None)
        if other is not None:
            raise ValueError(
                f"a scaler knows numbers without gaps only, and column {other[0]!r} is of kind {other[1]!r}; export "
                "the model as onnx, c or json"
            )
        columns = self.encoded_columns()
        return np.array([1 / column.factor for column in columns]), np.array([column.shift for column in columns])

    def encoded_columns(self) -> tuple[column_kinds.EncodedColumn, ...]:
        """Return how each column becomes numbers by what is known now."""
        known = self._known()
        named = zip(self.feature_names_in_.tolist(), known.kinds, known.columns, strict=True)
        return tuple(column_kinds.as_encoded(name, kind, state, self.max_categories) for name, kind, state in named)

    def has_statistics_of(self, other: object) -> bool:
        """Return whether both encode rows alike."""
        if type(self) is not type(other) or self.get_params(deep=False) != other.get_params(deep=False):
            return False
        mine, theirs = self._known(), other._known()
        return (
            self.feature_names_in_.tolist() == other.feature_names_in_.tolist()
            and mine.kinds == theirs.kinds
            and all(map(_is_same, mine.columns, theirs.columns))
        )

    def __onkel_inside__(self) -> Inside:
        return Inside(self, None, transformers=(self,), takes_tables=True)

    def __onkel_facts__(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"encoder": type(self).__name__}
        if self.__sklearn_is_fitted__():
            facts |= {"columns": self.schema_, "n_features": self.n_features_in_, "rows": self.n_samples_seen_}
            facts |= {"strays": self.strays_} if self.strays_ else {}
        return facts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_statistics")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    # -- saving (see onkel.files.persistence)

    def _saved_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"parameters": self.get_params(deep=False)}
        if self.__sklearn_is_fitted__():
            known = self._statistics
            fields |= {"n_features_in_": self.n_features_in_, "feature_names_in_": self.feature_names_in_}
            fields["_statistics"] = {
                "kinds": list(known.kinds),
                "found": list(known.found),
                "columns": [dict(state) for state in known.columns],
                "rows": known.rows,
                "settled": known.settled,
                "n_targets": known.n_targets,
                "first": None if known.first is None else kept_rows(known.first),
            }
        return fields

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        encoder = with_parameters(cls, fields.pop("parameters"))
        encoder._check_parameters()
        if not fields:
            return encoder
        if "_statistics" not in fields:
            raise ValueError("it has fitted attributes, but no statistics")
        names = fields["feature_names_in_"]
        check_number("n_features", fields["n_features_in_"], at_least=1, below=2**31, integer=True)
        if names is None:
            raise ValueError("feature_names must be the columns' names")
        check_feature_names(names, fields["n_features_in_"])
        encoder.n_features_in_, encoder.feature_names_in_ = int(fields["n_features_in_"]), names
        encoder._statistics = encoder._checked(fields["_statistics"])
        return encoder

    def _checked(self, saved: Any) -> Encoding:
        """Refuse statistics that no rows have."""
        names = self.feature_names_in_.tolist()
        kinds, found, columns = (saved[name] for name in ("kinds", "found", "columns"))
        if not all(isinstance(each, list) and len(each) == len(names) for each in (kinds, found, columns)):
            raise ValueError(f"statistics must have kinds and columns, one for each of {len(names)} columns")
        check_number("rows", saved["rows"], at_least=0, integer=True)
        if not isinstance(saved["settled"], bool):
            raise ValueError("settled must be true or false")
        n_targets = saved["n_targets"]
        check_number("n_targets", n_targets, at_least=0, at_most=by_target.MOST_COLUMNS, integer=True)
        for kind, what, state in zip(kinds, found, columns, strict=True):
            check_choice("the kind of a column", kind, [k + q for k in column_kinds.KINDS for q in ("", "?")])
            check_choice("what a column was found to be", what, ("", *column_kinds.KINDS))
            column_kinds.check_state(kind, state, self.max_categories, n_targets)
        first = None if saved["first"] is None else table_of_kept(saved["first"], tuple(names))
        if (0 if first is None else len(first)) != (0 if saved["settled"] else saved["rows"]):
            raise ValueError("the first rows must be there until the kinds are settled")
        counts = None if saved["settled"] else _no_counts(names)[0] if first is None else _counts_of(first)
        rows, settled = int(saved["rows"]), saved["settled"]
        return Encoding(
            tuple(kinds),
            tuple(found),
            tuple(columns),
            rows,
            first,
            counts=counts,
            settled=settled,
            n_targets=int(n_targets),
        )


def _layout(found: str, gaps: bool) -> str:
    """The kind that a column is encoded as: one without a value so far may hold anything."""
    return (found or "category") + ("?" if gaps else "")


def _gaps(found: Sequence[str], counts: deciding.Counts) -> list[bool]:
    """Whether columns have gaps; those whose kind only a schema can give have none that it does not mark."""
    return [
        kind in deciding.DECIDED and deciding.has_gaps(kind, each) for kind, each in zip(found, counts, strict=True)
    ]


def _agreed(fixed: set[str], counts: deciding.Counts) -> str:
    """What a column is to encoders some of which are settled."""
    return deciding.decided(counts) if not fixed else fixed.pop() if len(fixed) == 1 else "category"


def _counts_of(table: Table) -> deciding.Counts:
    return np.array([deciding.counted(deciding.value_codes(column, not table.typed)) for column in table.columns])


def _no_counts(columns: Sequence[Any]) -> list[deciding.Counts]:
    return [np.zeros((len(columns), len(deciding.CODES)), np.int64)]


def _is_same(one: column_kinds.State, other: column_kinds.State) -> bool:
    encoding = one.keys() - {"strays", "such_as", "beyond"}
    return one.keys() == other.keys() and all(
        _is_same(one[name], other[name]) if isinstance(one[name], dict) else np.array_equal(one[name], other[name])
        for name in encoding
    )
