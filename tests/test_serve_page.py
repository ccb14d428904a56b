"""The live page of the service, in a real browser."""

import shutil
import subprocess

import numpy as np
import pytest

import onkel
from serving import ask, running

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
X = np.random.default_rng(5).normal(size=(600, 3))
Y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
TOKEN = "a token of some length"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Without a sandbox, which containers do not allow; the page is ours.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=0)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Opens the page in a window of the wanted kind; at the end nothing may have been complained of."""
    complaints, contexts = [], []

    def open_page(service, path="/", width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(0)
        window = context.new_page()
        window.on("console", lambda message: complaints.append(f"console: {message.text}"))
        window.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        window.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        own = f"http://127.0.0.1:{service.port}/"
        window.on("request", lambda request: request.url.startswith(own) or complaints.append(request.url))
        window.goto(f"http://127.0.0.1:{service.port}{path}")
        window.wait_for_selector(".facts dd")
        return window

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def learn(service, begin, end, model="m"):
    content = {"rows": X[begin:end].tolist(), "labels": Y[begin:end].tolist()}
    assert ask(service, "POST", f"/v2/models/{model}/learn", content)[0] == 200
    service.models[model].progress._drawn = -np.inf  # the curve has a point a request, whatever the clock says


def fact(window, name):
    return window.locator(".facts div", has=window.locator(f"dt:text-is('{name}')")).locator("dd")


def shows(window, name, text):
    fact(window, name).filter(has_text=text).wait_for()


@pytest.fixture
def service(tmp_path):
    models = {
        "m": onkel.NewtonClassifier(gamma=0.5, budget=20, random_state=0),
        "<b>": onkel.OGDRegressor(kernel="linear"),
    }
    with running(tmp_path, models) as service:
        yield service


def test_it_follows_the_learning(service, opened):
    window = opened(service)
    assert window.title() == "m"
    assert window.locator(".said").inner_text() == "The model has learned nothing yet."
    assert window.locator("svg .empty").count() == 3
    for n in range(3):
        learn(service, 100 * n, 100 * n + 100)
    shows(window, "rows learned", "300")
    window.wait_for_selector("path.curve")
    assert window.locator("figure").count() == 3 and window.locator("path.curve").count() == 5
    assert not window.locator(".said").is_visible()
    before = window.locator("path.curve").first.get_attribute("d")
    assert "NaN" not in before
    learn(service, 300, 600)
    shows(window, "rows learned", "600")
    window.wait_for_function("before => document.querySelector('path.curve').getAttribute('d') !== before", arg=before)
    snapshot = service.models["m"].snapshot.model
    shows(window, "support vectors", str(snapshot.n_support_))


def test_refusals_are_shown_as_text(service, opened):
    window = opened(service)
    assert not window.locator("text=Recent refusals").is_visible()
    ask(service, "POST", "/v2/models/m/learn", {"rows": [{"<img src=x onerror=alert(1)>": "<i>"}], "labels": ["no"]})
    window.locator("td", has_text="expected a number").wait_for()
    assert window.locator("td img, td i").count() == 0
    assert "<img src=x" in window.locator("[data-fill=refusals] td").nth(2).inner_text()


def test_features_that_matter_are_shown_where_the_model_knows(service, opened):
    rows = [{"small": float(a), "large": float(b)} for a, b in X[:50, :2]]
    content = {"rows": rows, "labels": (X[:50, 0] + 10 * X[:50, 1]).tolist()}
    assert ask(service, "POST", "/v2/models/%3Cb%3E/learn", content)[0] == 200
    window = opened(service, "/models/%3Cb%3E")
    window.locator("[data-fill=features] td").first.wait_for()
    cells = window.locator("[data-fill=features] td").all_inner_texts()
    assert cells[0] == "large" and cells[2] == "small" and float(cells[1]) > float(cells[3])
    assert window.locator(".contents a").all_inner_texts() == ["m"]


def test_it_says_when_the_service_has_gone_and_goes_on_when_it_is_back(browser, tmp_path):
    context = browser.new_context()
    context.set_default_timeout(0)
    window = context.new_page()
    with running(tmp_path, {"m": onkel.OGDRegressor()}) as service:
        window.goto(f"http://127.0.0.1:{service.port}/")
        window.wait_for_selector(".facts dd")
    window.wait_for_selector("body[data-live=no]")
    assert "does not answer" in window.locator(".said").inner_text()
    context.close()


def test_a_token_is_the_password(browser, tmp_path):
    with running(tmp_path, {"m": onkel.OGDRegressor()}, token=TOKEN) as service:
        own = {"origin": f"http://127.0.0.1:{service.port}", "username": "anyone", "password": TOKEN}
        context = browser.new_context(http_credentials=own)
        context.set_default_timeout(0)
        window = context.new_page()
        window.goto(f"http://127.0.0.1:{service.port}/")
        window.wait_for_selector(".facts dd")
        context.close()


def test_it_fits_a_phone(service, opened):
    window = opened(service, width=400, height=844, is_mobile=True, has_touch=True)
    learn(service, 0, 100)
    ask(service, "POST", "/v2/models/m/learn", {"rows": [["x" * 100]], "labels": ["a very long label" * 20]})
    window.locator("[data-fill=refusals] td").first.wait_for()
    assert window.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_reader_likes(service, opened, scheme):
    window = opened(service, color_scheme=scheme)
    colour = window.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).slice(0, 3)")
    assert (min(colour) > 200) if scheme == "light" else (max(colour) < 60)


def test_a_browser_without_a_window_is_done_with_it(service, tmp_path):
    learn(service, 0, 100)
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--virtual-time-budget=5000", "--dump-dom", f"http://127.0.0.1:{service.port}/"]
    done = subprocess.run([CHROMIUM, *words], capture_output=True, text=True)
    assert 'data-live="yes"' in done.stdout and "<dt>rows learned</dt><dd>100</dd>" in done.stdout, done.stderr
