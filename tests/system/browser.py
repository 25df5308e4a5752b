"""The report of config/tiny.yaml in headless Chromium, without network (``./run test --system``).

At three widths, that of a phone among them: nothing is cut off, every figure is there and has a size, its caption is in
view, filters find a figure and a number, both epsilons stay in view, and the console has no error.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

import machine  # noqa: F401 - ends the browser also when the tests are ended
from pipeline import RESULTS, STUDY, TINY, copy_run, environment, launch

pytestmark = pytest.mark.system

QUIET = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
QUIET += ["--disable-dev-shm-usage"]
WIDTHS = (1280, 390, 1920)
FIGURES = ("error_by_epsilon", "error_by_parties")
REPORT = ("--reporter", "partywise", "--report-partywise-path", f"{RESULTS}/report.html")


@pytest.fixture(scope="module")
def report(finished, tmp_path_factory) -> Path:
    """The report, moved away from the results it was made of."""
    folder = copy_run(finished, tmp_path_factory.mktemp("report") / "project")
    done = launch(folder, *TINY, *REPORT)
    assert done.returncode == 0, done.stderr
    alone = tmp_path_factory.mktemp("alone") / "report.html"
    shutil.move(folder / RESULTS / "report.html", alone)
    return alone


@pytest.fixture(params=WIDTHS, ids=lambda width: f"{width}px")
def browser(report, request) -> Iterator[webdriver.Chrome]:
    """Chromium on the report, with its console recorded and no name resolved."""
    options = webdriver.ChromeOptions()
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium and chromedriver, "no browser: tests/system/browser.sh install"
    options.binary_location = chromium
    for word in (*QUIET, "--window-size=1280,900"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        # A window cannot be as narrow as a phone, the page in it can.
        size = {"width": request.param, "height": 900, "deviceScaleFactor": 1, "mobile": request.param < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(report.as_uri())
        yield driver
        errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert errors == []
    finally:
        driver.quit()


def inside(browser: webdriver.Chrome, element: WebElement) -> bool:
    """Whether an element is as wide as the window at most, lies in it, and hides nothing of itself."""
    wide = "const b = arguments[0].getBoundingClientRect(); const e = arguments[0];"
    wide += "return b.width > 100 && b.left >= 0 && b.right <= innerWidth && e.scrollWidth <= e.clientWidth + 1"
    return bool(browser.execute_script(wide, element))


def test_the_first_paragraphs_are_whole(browser):
    paragraphs = browser.find_elements(By.CSS_SELECTOR, "header p")
    assert len(paragraphs) >= 2 and "Two epsilons stand beside every error" in paragraphs[1].text
    assert all(inside(browser, one) for one in (*paragraphs, *browser.find_elements(By.TAG_NAME, "h1")))
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), "the page scrolls aside"


def test_every_figure_is_drawn_with_its_caption_in_view(browser):
    drawn = {one.get_attribute("id"): one for one in browser.find_elements(By.TAG_NAME, "figure")}
    assert set(drawn) == {f"{STUDY}-{name}" for name in FIGURES}
    for figure in drawn.values():
        image = figure.find_element(By.TAG_NAME, "img")
        assert browser.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 100", image)
        assert image.size["width"] > 100 and image.size["height"] > 100 and image.get_attribute("alt")
        caption = figure.find_element(By.TAG_NAME, "figcaption")
        assert caption.is_displayed() and inside(browser, caption) and f"Study {STUDY}" in caption.text
        below = caption.rect["y"] >= image.rect["y"] + image.rect["height"]
        assert below or caption.rect["x"] >= image.rect["x"] + image.rect["width"], "the caption covers the figure"


def test_a_drawing_is_shown_in_its_own_size_in_a_box_that_scrolls(browser):
    box = browser.find_element(By.CSS_SELECTOR, "figure .drawing")
    image = box.find_element(By.TAG_NAME, "img")
    fitting = image.size["width"]
    image.click()
    own = browser.execute_script("return arguments[0].naturalWidth", image)
    assert image.size["width"] >= min(own, 640) and image.size["width"] >= fitting
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    image.click()
    assert image.size["width"] == fitting


def test_figures_are_found_by_their_words(browser):
    browser.find_element(By.ID, "figures").send_keys("by parties")
    shown = [one.get_attribute("id") for one in browser.find_elements(By.TAG_NAME, "figure") if one.is_displayed()]
    assert shown == [f"{STUDY}-error_by_parties"]
    assert browser.find_element(By.ID, "shown").text == "1 of 2"


def test_a_number_is_found_by_typing_a_method_and_a_party_count(browser):
    """Error against epsilon of the moments at four parties."""
    browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary input").send_keys("moments 4")
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{STUDY}-summary tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows if row.is_displayed()]
    assert [[row[0], *row[3:6]] for row in cells] == [["moments", "simulated", "4", target] for target in ("8", "64")]
    assert all(float(row[8].split(" ")[0]) > 0 for row in cells)


def test_claimed_and_certified_stay_in_view(browser):
    """Whatever column of the summary one looks at."""
    box = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary .wide")
    cells = box.find_elements(By.CSS_SELECTOR, "tbody tr:last-child td")
    before = [cell.rect["x"] for cell in cells]
    browser.execute_script("arguments[0].scrollLeft = 150", box)
    after = [cell.rect["x"] for cell in cells]
    moved = browser.execute_script("return arguments[0].scrollLeft", box)
    assert after[:3] == before[:3] and after[2] + cells[2].rect["width"] <= box.rect["x"] + box.rect["width"]
    assert moved > 0 and all(new < old for new, old in zip(after[3:], before[3:], strict=True))


def test_a_link_unfolds_what_it_leads_to(browser):
    folded = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-ledger details")
    assert folded.get_attribute("open") is None
    browser.find_element(By.CSS_SELECTOR, f"a[href='#{STUDY}-ledger']").click()
    assert folded.get_attribute("open") is not None
    assert folded.find_element(By.TAG_NAME, "table").is_displayed()


def test_making_the_report_is_cheap(finished, tmp_path):
    """Hardly more than planning the run, which is measured beside it since machines differ threefold."""
    folder = copy_run(finished, tmp_path / "project")
    count = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
    count += "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"

    def cpu(*words: str) -> float:
        command = [sys.executable, "-c", count, sys.executable, "workflow/launch.py", *TINY, *words]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
        return float(done.stdout)

    cpu("-n")  # compiles the copied sources, as the run that made the results has done for its user
    # Measured 1.1 to 1.2 times; a report that imports matplotlib or fits anything is above the limit.
    assert cpu(*REPORT) <= (1.4 + 0.05 * len(FIGURES)) * cpu("-n")
