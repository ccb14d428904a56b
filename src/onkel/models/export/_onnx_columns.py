"""The columns of a table as nodes of ONNX: what `StreamEncoder` does, inside the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onkel.preprocess.column_kinds import DAY, HOURS, MONTHS, WEEKDAYS, YEAR, EncodedColumn

if TYPE_CHECKING:
    from onkel.models.export.onnx import _Graph

NO_DATE = np.iinfo(np.int64).min  # numpy's NaT
_GAP = -1  # the code of a word that is missing


def input_type(column: EncodedColumn, real: np.dtype[np.floating]) -> np.dtype[np.generic]:
    """Return the type of the values of a column: booleans with missing values are numbers or NaN."""
    types = {"category": np.dtype(object), "date": np.dtype(np.int64), "boolean": np.dtype(bool)}
    return real if column.kind == "boolean" and column.indicator else types.get(column.kind, real)


class GraphColumns:
    """Nodes that turn the columns of a table, each an input of its name, into a row of numbers."""

    def __init__(self, graph: _Graph, columns: tuple[EncodedColumn, ...]) -> None:
        self.graph, self.columns = graph, columns

    def rows(self) -> str:
        """Add all columns and return the node that holds them side by side."""
        makers = {"number": self._number, "boolean": self._boolean, "date": self._date, "category": self._category}
        pieces = [piece for i, column in enumerate(self.columns) for piece in makers[column.kind](column, f"_{i}")]
        return self.graph.node("Concat", *pieces, axis=1)

    def _real(self, values: str) -> str:
        return self.graph.cast(values, self.graph.dtype)

    def _number(self, column: EncodedColumn, suffix: str) -> list[str]:
        """(x - shift) * factor, by way of the nearest number to the shift that the type can hold."""
        graph, near = self.graph, float(self.graph.dtype.type(column.shift))
        values = self._real(column.name)
        moved = graph.node("Sub", values, graph.constant(f"shift{suffix}", near))
        scaled = graph.node("Mul", moved, graph.constant(f"factor{suffix}", column.factor))
        rest = graph.constant(f"rest{suffix}", (near - column.shift) * column.factor)
        return self._filled(column, values, graph.node("Add", scaled, rest), suffix)

    def _boolean(self, column: EncodedColumn, suffix: str) -> list[str]:
        values = self._real(column.name)
        return self._filled(column, values, values, suffix) if column.indicator else [values]

    def _filled(self, column: EncodedColumn, values: str, converted: str, suffix: str) -> list[str]:
        """The converted values, with missing ones where the input is NaN."""
        graph = self.graph
        is_gap = graph.node("IsNaN", values)
        filled = graph.node("Where", is_gap, graph.constant(f"gap{suffix}", column.gap), converted)
        return [filled, *self._indicator(column, is_gap)]

    def _indicator(self, column: EncodedColumn, is_gap: str) -> list[str]:
        return [self._real(is_gap)] if column.indicator else []

    def _category(self, column: EncodedColumn, suffix: str) -> list[str]:
        """One-hot encoding; empty text is a missing value, unless it is one of the words."""
        graph, words = self.graph, column.all_words
        codes = {"": _GAP} | {word: code for code, word in enumerate(words)}
        unknown = len(words) if column.targets else column.places - 1
        code = graph.node(
            "LabelEncoder",
            column.name,
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=unknown,
        )
        is_gap = graph.node("Equal", code, graph.shared("no_code", np.array(_GAP, np.int64)))
        if not column.targets:
            places = graph.shared(f"places{suffix}", np.arange(column.places, dtype=np.int64))
            return [self._real(graph.node("Equal", code, places)), *self._indicator(column, is_gap)]
        own = graph.shared(f"places{suffix}", np.arange(len(column.words), dtype=np.int64))
        last = graph.shared(f"last{suffix}", np.array(len(column.words) - 1, np.int64))
        nothing = (0.0,) * column.n_targets
        table = np.array([nothing, *(column.targets.get(word, nothing) for word in words), nothing])
        rows = graph.node("Add", code, graph.shared("one", np.array(1, np.int64)))  # a gap is the first
        numbers = graph.node("Gather", graph.constant(f"targets{suffix}", table), rows, axis=0)
        pieces = [
            self._real(graph.node("Equal", code, own)),
            graph.node("Squeeze", numbers, graph.axis(1)),
            self._real(graph.node("Greater", code, last)),
        ]
        return [*pieces, *self._indicator(column, is_gap)]

    def _date(self, column: EncodedColumn, suffix: str) -> list[str]:
        """Month, weekday and hour on their circles, and the years since the first date."""
        graph, time = self.graph, column.name
        is_gap = graph.node("Equal", time, self._whole(NO_DATE))
        time = graph.node("Where", is_gap, self._whole(0), time)
        within = graph.node("Mod", time, self._whole(DAY))
        day = self._divided(graph.node("Sub", time, within), DAY)
        pieces = [
            self._on_circle("months", MONTHS, self._month(day)),
            self._on_circle("weekdays", WEEKDAYS, self._modulo(self._plus(day, 3), 7)),  # 1970-01-01 was a Thursday
            self._on_circle("hours", HOURS, self._divided(within, DAY // 24)),
        ]
        if column.origin is None:
            pieces.append(graph.node("Mul", self._real(within), graph.constant(f"never{suffix}", 0.0)))
        else:
            elapsed = self._real(self._plus(time, -column.origin))
            pieces.append(graph.node("Mul", elapsed, graph.constant(f"per_year{suffix}", 1 / YEAR)))
        there = self._real(graph.node("Not", is_gap))
        return [graph.node("Mul", graph.node("Concat", *pieces, axis=1), there), *self._indicator(column, is_gap)]

    def _month(self, day: str) -> str:
        """The month of a day since 1970, 0 for January: years that begin in March, in cycles of 146,097 days."""
        graph = self.graph
        of_cycle = self._modulo(self._plus(day, 719_468), 146_097)
        leaps = graph.node("Sub", self._divided(of_cycle, 36_524), self._divided(of_cycle, 1460))
        leaps = graph.node("Sub", leaps, self._divided(of_cycle, 146_096))
        year = self._divided(graph.node("Add", of_cycle, leaps), 365)
        before = graph.node("Add", self._times(year, 365), self._divided(year, 4))
        before = graph.node("Sub", before, self._divided(year, 100))
        of_year = graph.node("Sub", of_cycle, before)
        since_march = self._divided(self._plus(self._times(of_year, 5), 2), 153)
        return self._modulo(self._plus(since_march, 2), 12)

    def _on_circle(self, name: str, table: np.ndarray, place: str) -> str:
        graph = self.graph
        values = graph.shared(f"{name}_{graph.dtype.name}", table.astype(graph.dtype))
        return graph.node("Squeeze", graph.node("Gather", values, place), graph.axis(1))

    def _whole(self, value: int) -> str:
        return self.graph.shared(f"whole_{value}", np.array(value, np.int64))

    def _plus(self, value: str, number: int) -> str:
        return self.graph.node("Add", value, self._whole(number))

    def _times(self, value: str, number: int) -> str:
        return self.graph.node("Mul", value, self._whole(number))

    def _divided(self, value: str, number: int) -> str:
        return self.graph.node("Div", value, self._whole(number))

    def _modulo(self, value: str, number: int) -> str:
        return self.graph.node("Mod", value, self._whole(number))
