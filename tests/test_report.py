"""The report page, in a real browser: it renders, answers the reader's hand, and fits a phone."""

import shutil
from pathlib import Path

import pytest

from onkel.report import Column, comparison, page, table

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

ROWS = [100, 1000, 5000, 10_000, 20_000]
CURVES = {
    "spa": ([0.6, 0.7, 0.8, 0.81, 0.82], [20, 90, 95, 100, 100]),
    "bogd": ([0.5, 0.72, 0.75, 0.76, 0.77], [50, 100, 100, 100, 100]),
    "<script>alert('x')</script>": ([0.55, 0.71, 0.7, 0.69, 0.68], [10, 20, 30, 40, 50]),
}


def report():
    runs = [
        {
            "learner": name,
            "parameters": {"eta": 0.5, "budget": 100, "kernel": "rbf", "average": None},
            "curve": {
                "name": name,
                "rows": ROWS,
                "seconds": [0.01 * (i + 1) * n / 100 for n in ROWS],
                "n_support": n_support,
                "accuracy": accuracy,
            },
        }
        for i, (name, (accuracy, n_support)) in enumerate(CURVES.items())
    ]
    data = {"name": "a<b>.txt", "rows": 20_000, "n_features": 8, "task": "classification", "classes": [-1, 1]}
    return comparison(data, runs)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Without a sandbox, which containers do not allow; the page is ours.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=0)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the report in a window of the wanted kind; at the end nothing may have been complained of or fetched."""
    path = tmp_path / "report.html"
    path.write_text(report(), encoding="utf-8")
    complaints, contexts = [], []

    def open_report(width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(0)
        window = context.new_page()
        window.on("console", lambda message: complaints.append(f"console: {message.text}"))
        window.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        window.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        address = path.as_uri()
        window.on("request", lambda request: request.url == address or complaints.append(f"request: {request.url}"))
        window.goto(address)
        window.wait_for_selector("path.curve")
        return window

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []


def curves(window):
    return window.locator("path.curve").count()


@needs_chromium
def test_it_renders_every_curve(opened):
    window = opened()
    assert window.title() == "3 learners on a<b>.txt"
    assert window.locator("figure").count() == 3
    assert curves(window) == 9
    assert window.locator("tbody tr").count() == 3
    assert window.locator(".facts dd").all_inner_texts() == ["20,000", "8", "classification", "-1, 1"]
    for d in window.locator("path.curve").evaluate_all("paths => paths.map(p => p.getAttribute('d'))"):
        assert d.startswith("M") and "NaN" not in d and "Infinity" not in d
    assert window.locator("td.best").all_inner_texts() == ["82.00 %"]


@needs_chromium
def test_drift_is_shown_where_it_was_measured(browser, tmp_path):
    run = {"learner": "newton", "parameters": {}, "importances": {"age": 1.0, "<b>": 0.25}}
    run["curve"] = {
        "name": "newton",
        "rows": [100, 1000],
        "seconds": [0.1, 1.0],
        "n_support": [9, 9],
        "accuracy": [0.9, 0.8],
        "window_rows": [250, 500, 750, 1000],
        "window_accuracy": [0.9, 0.5, 0.7, 0.9],
        "window_log_loss": [0.2, 0.9, 0.5, 0.2],
        "memory_rows": [500, 1000],
        "memory": [500.0, 10.0],
        "changes": [600],
    }
    path = tmp_path / "drift.html"
    data = {"name": "a", "rows": 1000, "n_features": 2, "task": "classification"}
    path.write_text(comparison(data, [run]), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    window = context.new_page()
    window.goto(path.as_uri())
    window.wait_for_selector("path.curve")
    assert window.locator("figcaption").all_inner_texts() == [
        "Accuracy so far",
        "Recent accuracy",
        "Recent log loss",
        "Accuracy against time",
        "Support vectors",
        "Memory that the stream asks for, in rows",
    ]
    assert curves(window) == 6
    marks = window.locator("path.change title").all_text_contents()
    assert marks == ["newton chose again after row 600"] * 5  # wherever rows are drawn
    assert window.locator("meter").evaluate_all("bars => bars.map(bar => bar.value)") == [1, 0.25]
    context.close()


@needs_chromium
def test_the_legend_hides_and_shows(opened):
    window = opened()
    button = window.locator(".legend button").first
    button.click()
    assert curves(window) == 6 and button.get_attribute("aria-pressed") == "false"
    button.click()
    assert curves(window) == 9 and button.get_attribute("aria-pressed") == "true"
    button.dblclick()
    assert curves(window) == 3
    button.click()
    assert curves(window) == 0
    assert window.locator("svg .empty").count() == 3


@needs_chromium
def test_pointing_shows_the_values_there(opened):
    window = opened()
    figure = window.locator("figure").first
    canvas = figure.locator(".canvas")
    tip = figure.locator(".tip")
    assert not tip.is_visible()
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 12, "y": 80})
    name = "<script>alert('x')</script>"
    assert tip.inner_text().split("\n") == ["20,000 rows", "spa", "82.00 %", "bogd", "77.00 %", name, "68.00 %"]
    canvas.hover(position={"x": box["width"] / 2, "y": 80})
    assert tip.inner_text().startswith("10,000 rows")
    assert figure.locator("circle.dot").count() == 3
    window.mouse.move(5, 5)
    assert not tip.is_visible()


@needs_chromium
def test_arrow_keys_walk_along_the_curves(opened):
    window = opened()
    figure = window.locator("figure").nth(2)
    figure.focus()
    figure.press("ArrowLeft")
    assert figure.locator(".tip").inner_text().startswith("20,000 rows")
    figure.press("ArrowLeft")
    assert figure.locator(".tip").inner_text().startswith("10,000 rows")
    figure.press("Escape")
    assert not figure.locator(".tip").is_visible()


@needs_chromium
def test_the_axis_becomes_logarithmic(opened):
    window = opened()
    path = window.locator("path.curve").first
    before = path.get_attribute("d")
    window.locator("button.scale").click()
    assert window.locator("path.curve").first.get_attribute("d") != before
    texts = window.locator("figure").first.locator("svg text").all_text_contents()
    assert "100" in texts and "10k" in texts


@needs_chromium
def test_a_click_on_a_head_sorts(opened):
    window = opened()
    window.locator("th button", has_text="accuracy").click()
    assert window.locator("tbody td.share").all_inner_texts() == ["82.00 %", "77.00 %", "68.00 %"]
    window.locator("th button", has_text="accuracy").click()
    assert window.locator("tbody td.share").all_inner_texts() == ["68.00 %", "77.00 %", "82.00 %"]


@needs_chromium
def test_it_fits_a_phone(opened):
    window = opened(390, 844, is_mobile=True, has_touch=True, device_scale_factor=2)
    assert window.evaluate("document.documentElement.scrollWidth") == 390
    boxes = [figure.bounding_box() for figure in window.locator("figure").all()]
    assert len({box["x"] for box in boxes}) == 1  # one below the other
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert all(
        height >= 30 for height in window.locator(".legend button").evaluate_all("b => b.map(x => x.offsetHeight)")
    )
    canvas = window.locator("figure").first.locator(".canvas")
    canvas.tap(position={"x": canvas.bounding_box()["width"] - 12, "y": 60})
    tip = window.locator("figure").first.locator(".tip")
    assert tip.inner_text().startswith("20,000 rows")
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_reader_likes(opened, scheme):
    window = opened(color_scheme=scheme)
    red, green, blue = window.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).slice(0, 3)"
    )
    assert (min(red, green, blue) > 200) if scheme == "light" else (max(red, green, blue) < 60)


def test_whatever_comes_from_outside_is_escaped():
    made = report()
    assert "<script>alert" not in made and "a<b>" not in made
    made = page("<i>", table([Column("x", "<b>", "text")], [{"x": '"><u>'}]))
    assert "<i>" not in made and "<b>" not in made and "<u>" not in made


def test_a_page_is_one_file():
    made = report()
    assert "src=" not in made and "@import" not in made and "url(h" not in made
    assert made.count("http") == made.count("http://www.w3.org/2000/svg") == 1
    assert str(Path(__file__).parents[1]) not in made  # no path of the machine that made it


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wide_table_scrolls_and_shows_that_it_does(browser, tmp_path, scheme):
    from PIL import Image

    names = [f"column {i}" for i in range(8)]
    wide = table([Column("x", "x", "text"), *names], [{"x": "a name " * 20, **dict.fromkeys(names, 0.5)}])
    (tmp_path / "wide.html").write_text(page("Tables", wide, table(["a"], [{"a": 1.0}])), encoding="utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme)
    window = context.new_page()
    window.goto((tmp_path / "wide.html").as_uri())

    def edge(which):
        """The colour of a table's last row near its right edge, between the lines of text."""
        window.locator(".table").nth(which).screenshot(path=tmp_path / "table.png")
        image = Image.open(tmp_path / "table.png").convert("RGB")
        return image.getpixel((image.width - 4, image.height - 8))

    assert window.evaluate("document.documentElement.scrollWidth") == 400
    plain, more = edge(1), edge(0)
    assert sum(abs(a - b) for a, b in zip(plain, more, strict=True)) > 40  # a shadow
    box = window.locator(".table").first
    assert box.evaluate("t => t.querySelector('td').offsetWidth") < 200  # the column that stays leaves room for others
    box.evaluate("t => { t.scrollLeft = t.scrollWidth }")
    assert sum(abs(a - b) for a, b in zip(plain, edge(0), strict=True)) < 20  # nothing more to come
    context.close()
