"""What the tests of the papers' experiments share."""

import pytest

import small_data
from onkel.streams import datasets
from onkel_papers import _data


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Puts the data sets in miniature where onkel looks for them."""
    folder = tmp_path / "data"
    folder.mkdir()
    table = small_data.write(folder)
    monkeypatch.setattr(datasets, "_table", lambda: table)
    monkeypatch.setenv("ONKEL_DATA", str(folder))
    monkeypatch.setenv("ONKEL_CACHE", str(tmp_path / "cache"))
    _data._joined.cache_clear()
    yield folder
    _data._joined.cache_clear()
