"""The site's own checks find what they are for (scripts/site)."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def site(tmp_path, monkeypatch):
    loader = SourceFileLoader("onkel_site", str(ROOT / "scripts" / "site"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    module = module_from_spec(spec_from_loader("onkel_site", loader))
    loader.exec_module(module)
    module.SITE = tmp_path
    return module


def test_dead_links_are_found(site, tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="there.html">a</a> <a href="there.html#place">b</a> <a href="https://example.org/x">c</a>'
        '<a href="gone.html">d</a> <img alt="" src="gone.png"> <a href="there.html#nowhere">e</a>'
        '<a href="#">f</a> <a href="#here" id="here">g</a> <a href="#missing">h</a>'
    )
    (tmp_path / "there.html").write_text('<p id="place"></p>')
    assert [line.split(" links to ")[1] for line in site.dead_links()] == [
        "#missing: the page has no such place",
        "gone.html, which is not there",
        "gone.png, which is not there",
        "there.html#nowhere: the page has no such place",
    ]


def test_every_example_has_its_place_in_the_gallery():
    examples = {path.stem.removeprefix("plot_") for path in (ROOT / "docs" / "gallery").glob("plot_*.py")}
    listed = re.search(r"^GALLERY = \[(.*?)\]", (ROOT / "docs" / "conf.py").read_text(), re.MULTILINE | re.DOTALL)
    places = re.findall(r'"(\w+)"', listed[1])
    assert len(places) == len(examples) and set(places) == examples


def test_a_page_that_no_list_names_is_added_to_the_guides(site):
    site.SOURCE = Path("/site")
    pages = {
        Path("/site/index.md"): b"```{toctree}\nstart\nmore\n```",
        Path("/site/more.md"): b"```{toctree}\nnewton\n% others\n```",
        **{Path(f"/site/{name}.md"): b"" for name in ("start", "newton", "new")},
    }
    assert site.with_unlisted(pages) == b"```{toctree}\nnewton\nnew\n```"


def test_links_of_the_repository_become_links_of_the_site(site, tmp_path):
    site.ROOT = tmp_path
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text(
        "[a](../CHANGELOG.md) [b](../src/onkel/x.py) [c](gallery/plot_drift.py) [d](gallery/) [e](other.md) "
        "[f](../README.md)"
    )
    assert site.text_of(page).decode() == (
        "[a](changelog.md) `b` [c](examples/plot_drift.rst) [d](examples/index.rst) [e](other.md) [f](index.md)"
    )


def test_a_link_named_by_a_file_is_named_by_its_title(site, tmp_path):
    site.ROOT = tmp_path
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text("[docs/newton.md](newton.md) [streams.md](streams.md#tables) [CONTRIBUTING.md](../CONTRIBUTING.md)")
    assert site.text_of(page).decode() == "[](newton.md) [](streams.md#tables) [](contributing.md)"


def test_markup_that_was_not_read_is_found(site, tmp_path):
    good = '<article><p>a <code>b`</code> **c</p><pre>`</pre><img alt="c" src="d"></article>`'
    (tmp_path / "good.html").write_text(good)
    assert site.unread_markup() == []
    (tmp_path / "bad.html").write_text("<article>a `b <b>c</b></article><article>")
    (tmp_path / "worse.html").write_text("<article>[a](b.md)</article>")
    assert site.unread_markup() == [
        "bad.html shows its Markdown: a `b c",
        "worse.html shows its Markdown: [a](b.md)",
    ]


def test_the_reference_has_every_public_estimator_once(site):
    import onkel

    lines = site.reference().split()
    for name in onkel.estimators.named.__all__:
        assert lines.count(f"onkel.{name}") == 1, name
