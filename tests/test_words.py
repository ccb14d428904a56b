"""The word of a category is a function of the value: whatever holds the column, how rows are cut, and after a load."""

import datetime as dt
import decimal
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onkel
from onkel.streams.table import Table
from onkel.streams.values import plain_value, word_of

ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
DAYS = [dt.date(2020, 1, 1), dt.date(1582, 10, 15), dt.date(2020, 1, 1)]
TIMES = [dt.datetime(2020, 1, 1), dt.datetime(1999, 12, 31, 23, 59, 59, 7), dt.datetime(2020, 1, 1, 6)]
COLUMNS = {  # values, and the types of their columns in NumPy, pandas, polars and Arrow
    "days": (DAYS, "datetime64[D]", "datetime64[s]", pl.Date, pa.date32()),
    "times": (TIMES, "datetime64[us]", "datetime64[us]", pl.Datetime("us"), pa.timestamp("us")),
    "nanoseconds": (TIMES[:2], "datetime64[ns]", "datetime64[ns]", pl.Datetime("ns"), pa.timestamp("ns")),
    "zones": (
        [dt.datetime(2020, 1, 1, tzinfo=ZURICH), dt.datetime(2020, 7, 1, 0, 30, tzinfo=ZURICH)],
        object,
        "datetime64[us, Europe/Zurich]",
        pl.Datetime("us", "Europe/Zurich"),
        pa.timestamp("us", "Europe/Zurich"),
    ),
    "integers": ([1, 2**60 + 1, 2**60, -(2**53) - 1], np.int64, "Int64", pl.Int64, pa.int64()),
    "unsigned": ([7, 2**63 + 1, 2**64 - 1], np.uint64, "UInt64", pl.UInt64, pa.uint64()),
    "small": ([3, -4, 0], np.int8, "int8", pl.Int8, pa.int8()),
    "doubles": ([0.1, 3.0, 1e22, -0.0, 5e-324], np.float64, "Float64", pl.Float64, pa.float64()),
    "booleans": ([True, False], bool, "boolean", pl.Boolean, pa.bool_()),
    "prices": ([Decimal("1.10"), Decimal("2.00"), Decimal("-0.01")], object, object, pl.Decimal(20, 2), None),
    "text": (["Bern", "2020-01-01", "3.0"], object, "string", pl.String, pa.string()),
}
WORDS = {
    "days": ["2020-01-01", "1582-10-15"],
    "times": ["2020-01-01", "1999-12-31T23:59:59.000007", "2020-01-01T06:00:00"],
    "zones": ["2020-01-01T00:00:00+01:00", "2020-07-01T00:30:00+02:00"],
    "integers": ["1", str(2**60 + 1), str(2**60), str(-(2**53) - 1)],
    "doubles": ["0.1", "3", "1e+22", "0", "5e-324"],
    "prices": ["1.1", "2", "-0.01"],
}


def words(tables, encoder=None, saved=None):
    """The words after these tables, learned in turn; ``saved`` is a file to go through in between."""
    encoder = encoder or onkel.StreamEncoder()
    for table in tables:
        encoder.partial_fit(table)
        if saved is not None:
            onkel.save(encoder, saved)
            encoder = onkel.load(saved)
    return encoder.categories_.get("x")


@pytest.mark.parametrize("name", COLUMNS)
def test_words_are_those_of_the_value_in_every_library(name, tmp_path):
    values, of_numpy, of_pandas, of_polars, of_arrow = COLUMNS[name]
    array = np.empty(len(values), object)
    array[:] = values
    array = array.astype(of_numpy)
    pq.write_table(pa.table({"x": pa.array(values, of_arrow)}), tmp_path / "x.parquet")
    tables = [
        {"x": values},
        [{"x": value} for value in values],
        {"x": array},
        {"x": [np.asarray(value)[()] for value in array]},
        pd.DataFrame({"x": pd.Series(values, dtype=of_pandas)}),
        pd.DataFrame({"x": pd.Series(values, dtype=object)}),
        pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, of_arrow)))}),
        pl.DataFrame({"x": pl.Series(values, dtype=of_polars)}),
        pa.table({"x": pa.array(values, of_arrow)}),
        pq.read_table(tmp_path / "x.parquet"),
    ]
    expected = WORDS.get(name, list(dict.fromkeys(map(word_of, values))))
    for table in tables:
        for text in ({"x": ["n/k"]}, pl.DataFrame({"x": ["n/k"]})):
            assert words([table, text]) == [*expected, "n/k"]
            assert words([text, table]) == ["n/k", *expected]
            assert words([table, text], saved=tmp_path / "e.onkel") == [*expected, "n/k"]
            assert words([table], onkel.StreamEncoder(schema={"x": "category"})) == expected


VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**53, 2**53 + 1, 10**40, True, None, "Bern", "3", "a\0", " b ", "2020-01-01"]),
    st.floats(-1e100, 1e100),
    st.decimals(-(10**40), 10**40),
    st.dates(),
    st.datetimes(),
    st.datetimes(min_value=dt.datetime(2, 1, 1), max_value=dt.datetime(9998, 1, 1), timezones=st.just(ZURICH)),
)


@given(st.lists(VALUES, min_size=1, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_words_do_not_depend_on_cuts_and_saving(tmp_path_factory, values, data):
    values = [*values, "a word"]  # the column is a category in the end
    path = tmp_path_factory.mktemp("words") / "e.onkel"
    whole = words([{"x": values}])
    at = data.draw(st.integers(1, len(values)))
    tables = [{"x": values[:at]}, pd.DataFrame({"x": pd.Series(values[at:], dtype=object)})]
    assert words(tables) == whole
    assert words(tables, saved=path) == whole
    saved = path.read_bytes()
    assert words([{"x": [value]} for value in values], saved=path) == whole
    assert path.read_bytes() == saved  # whatever the first rows were kept as


def test_kept_numbers_are_saved_alike(tmp_path):
    one = onkel.StreamEncoder().partial_fit({"x": [3, 4, "n/k"]})
    two = onkel.StreamEncoder().partial_fit({"x": [3.0, 4.0]}).partial_fit({"x": ["n/k"]})
    onkel.save(one, tmp_path / "one.onkel")
    onkel.save(two, tmp_path / "two.onkel")
    assert (tmp_path / "one.onkel").read_bytes() == (tmp_path / "two.onkel").read_bytes()


def test_equal_decimals_have_one_word():
    with decimal.localcontext() as context:
        context.prec = 3
        assert {word_of(Decimal(text)) for text in ("1.10", "1.1", "11e-1", "1.1000")} == {"1.1"}
        assert word_of(Decimal(2**60 + 1)) == str(2**60 + 1) == word_of(2**60 + 1)
    assert word_of(Decimal("1e9999")) == word_of(Decimal("10e9998")) == "1E+9999"
    assert plain_value(Decimal("NaN")) is None


def test_far_times_are_refused_by_name():
    for table in (
        pa.table({"a": [1, 2], "when": pa.array([1, 2**31 - 1], pa.date32())}),
        {"a": [1, 2], "when": np.array(["2020-01-01", "31000-01-01"], "datetime64[D]")},
        {"a": [1, 2], "when": [dt.date(2020, 1, 1), np.datetime64("31000-01-01")]},
        {"a": [1, 2], "when": ["", dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))]},
    ):
        with pytest.raises(ValueError, match=r"at row 1, column 1 \('when'\); expected a time in the years 1 to 9999"):
            Table.of(table)
    with pytest.raises(ValueError, match=r"at row 0, column 0 \('x'\); expected a finite number"):
        onkel.StreamEncoder().fit({"x": [10**400, 1]})


def big(name):
    table = pa.table({"id": pa.array([5, 2**60 + 1, 7]), "x": [1.0, 2.0, 3.0], "target": ["a", "b", "a"]})
    if name.endswith("parquet"):
        pq.write_table(table, name)
    else:
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return name


@pytest.mark.parametrize("name", ["big.parquet", "big.arrow"])
def test_integers_that_no_double_holds_are_refused_by_file_row_and_column(name, tmp_path):
    path = big(str(tmp_path / name))
    with pytest.raises(
        ValueError, match=rf"{name}, row 2, column 1 \('id'\): expected a whole number of at most 2\^53"
    ):
        list(onkel.streams.open(path))
    with pytest.warns(RuntimeWarning, match="1 rows of .* were skipped"):
        chunks = list(onkel.streams.open(path, on_error="skip"))
    assert np.concatenate([X for X, _ in chunks]).tolist() == [[5, 1], [7, 3]]
    assert [label for _, y in chunks for label in y] == ["a", "a"]
    (X, _), *_ = onkel.streams.open(path, table=True)  # where an id may be a category
    assert onkel.StreamEncoder(schema={"id": "category"}).fit(X).categories_ == {"id": ["5", str(2**60 + 1), "7"]}
