"""The report of config/tiny.yaml in headless Chromium, without network (``./run test --system``).

At three widths, that of a phone among them: nothing overflows, every text can be read, figures have their captions,
values and configuration, tables sort, filter and are saved, and the console has no error.
"""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

import machine  # noqa: F401 - ends the browser also when the tests are ended
from pipeline import RESULTS, STUDY, TINY, copy_run, environment, launch

pytestmark = pytest.mark.system

QUIET = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
QUIET += ["--disable-dev-shm-usage"]
WIDTHS = (1280, 390, 1920)
FIGURES = ("error_by_epsilon", "error_by_parties")
# Pixels of the smallest text of the page; share of its size to which a drawing, whose text has 7 points, may shrink.
LEGIBLE, SHARE = 12, 0.98
# Texts of the page that are shown, by the size of their letters.
SIZES = """
const sizes = {}, walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const place = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
  if (text && place.getClientRects().length) sizes[parseFloat(getComputedStyle(place).fontSize)] = text;
}
return sizes;
"""
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
def browser(report, request, tmp_path) -> Iterator[webdriver.Chrome]:
    """Chromium on the report, with its console recorded and no name resolved."""
    options = webdriver.ChromeOptions()
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium and chromedriver, "no browser: tests/system/browser.sh install"
    options.binary_location = chromium
    for word in (*QUIET, "--window-size=1280,900"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path)})
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


def saved(folder: Path) -> list[list[str]]:
    """Cells of the one CSV file that the browser saves."""
    for _ in range(100):
        if files := list(folder.glob("*.csv")):
            with files[0].open(newline="", encoding="utf-8") as handle:
                return list(csv.reader(handle))
        time.sleep(0.1)
    raise AssertionError(f"no CSV file in {folder}")


def cells(browser: webdriver.Chrome, rows: str) -> list[list[str]]:
    """Texts of the rows that are shown, as the page has them."""
    found = [row for row in browser.find_elements(By.CSS_SELECTOR, rows) if row.is_displayed()]
    read = "return Array.from(arguments[0].cells, cell => cell.textContent.trim())"
    return [browser.execute_script(read, row) for row in found]


def test_nothing_overflows_and_every_text_can_be_read(browser):
    """Also when all that is folded is open."""
    for _ in range(2):
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        sizes = browser.execute_script(SIZES)
        assert len(sizes) > 3 and min(map(float, sizes)) >= LEGIBLE, sizes
        browser.execute_script("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    paragraphs = browser.find_elements(By.CSS_SELECTOR, "header p, .how p, .question, .answer")
    assert len(paragraphs) >= 4 and any("Every error is reported with two epsilons" in one.text for one in paragraphs)
    assert all(inside(browser, one) for one in (*paragraphs, *browser.find_elements(By.TAG_NAME, "h1")))


def test_the_first_screen_holds_the_table_and_the_links_to_the_studies(browser):
    """Links share a line where there is room for all."""
    table = browser.find_element(By.CSS_SELECTOR, "table.results")
    assert table.rect["y"] + table.rect["height"] <= 844
    links = browser.find_elements(By.CSS_SELECTOR, "nav .links a")
    assert [one.text for one in links] == ["all studies", STUDY.replace("_", " ")] and all(map(is_inside, links))


def is_inside(link: WebElement) -> bool:
    """Whether a link begins and ends in the window."""
    width = link.parent.execute_script("return innerWidth")
    return bool(link.rect["x"] >= 0 and link.rect["x"] + link.rect["width"] <= width)


def test_every_figure_is_drawn_with_its_caption_in_view(browser):
    drawn = {one.get_attribute("id"): one for one in browser.find_elements(By.TAG_NAME, "figure")}
    assert set(drawn) == {f"{STUDY}-{name}" for name in FIGURES}
    for figure in drawn.values():
        image = figure.find_element(By.TAG_NAME, "img")
        assert browser.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 100", image)
        own = browser.execute_script("return arguments[0].naturalWidth", image)
        assert image.size["width"] >= SHARE * own, "its text has the size that it was drawn with"
        assert image.size["width"] > 100 and image.size["height"] > 100 and image.get_attribute("alt")
        caption = figure.find_element(By.TAG_NAME, "figcaption")
        assert caption.is_displayed() and inside(browser, caption) and f"Study {STUDY}" in caption.text
        below = caption.rect["y"] >= image.rect["y"] + image.rect["height"]
        assert below or caption.rect["x"] >= image.rect["x"] + image.rect["width"], "the caption covers the figure"


def test_a_drawing_changes_its_size_by_a_click_and_by_a_key(browser):
    """It is as wide as its box: larger than before, or on a phone, where it scrolls, whole."""
    box = browser.find_element(By.CSS_SELECTOR, "figure .drawing")
    image = box.find_element(By.TAG_NAME, "img")
    before, room = image.size["width"], box.size["width"]
    image.click()
    assert 0.9 * box.size["width"] <= image.size["width"] <= box.size["width"] and image.size["width"] != before
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    box.send_keys(Keys.ENTER)
    assert (image.size["width"], box.size["width"]) == (before, room)


def test_the_values_of_a_figure_are_saved_and_its_configuration_unfolds(browser, finished, tmp_path):
    name = FIGURES[0]
    sources = browser.find_elements(By.CSS_SELECTOR, f"#{STUDY}-{name} .sources a")
    sources[0].click()
    with (finished / RESULTS / "figures" / STUDY / f"{name}.csv").open(newline="", encoding="utf-8") as handle:
        assert saved(tmp_path) == list(csv.reader(handle))
    sources[1].click()
    configuration = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-configuration pre")
    assert configuration.is_displayed() and '"snr": 10.0' in configuration.text


def test_a_table_is_sorted_by_click_and_key_with_infinities_and_words_apart(browser):
    """Of the column of certified epsilons: finite ones in order, the infinite ones behind them in both orders."""
    head = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary thead th:nth-child(3)")
    button, rows = head.find_element(By.TAG_NAME, "button"), f"#{STUDY}-summary tbody tr"
    before = cells(browser, rows)
    epsilons = [float(row[2].replace("∞", "inf").split(" ")[0]) for row in before]
    finite = sorted(value for value in epsilons if math.isfinite(value))
    infinite = [row for row, value in zip(before, epsilons, strict=True) if math.isinf(value)]
    assert len(set(finite)) > 1 and infinite, "a column with both"
    for press, order, expected in (
        (button.click, "ascending", finite),
        (lambda: button.send_keys(Keys.ENTER), "descending", finite[::-1]),
    ):
        press()
        assert head.get_attribute("aria-sort") == order
        after = cells(browser, rows)
        assert [float(row[2].split(" ")[0]) for row in after[: len(finite)]] == expected
        assert after[len(finite) :] == infinite
    button.send_keys(Keys.SPACE)
    assert cells(browser, rows) == before and head.get_attribute("aria-sort") == "none"


@pytest.mark.parametrize(
    ("texts", "ascending", "descending"),
    [
        (["not run", "2 ± 0.1", "∞", "10", "none"], ["2 ± 0.1", "10", "∞", "not run", "none"], [3, 1, 2, 0, 4]),
        (["1e-05", "", "-3", "0.5 at ε 8"], ["-3", "1e-05", "0.5 at ε 8", ""], [3, 0, 2, 1]),
        (["case 10", "case 9", "∞"], ["∞", "case 9", "case 10"], [0, 1, 2]),
        (["model I, n = 500", "2 clients", "10 clients"], ["2 clients", "10 clients", "model I, n = 500"], [0, 2, 1]),
    ],
)
def test_numbers_come_before_infinities_and_words_last(browser, texts, ascending, descending):
    script = "const rows = arguments[0].map(text => ({ cells: [{ textContent: text }] }));"
    script += "return ordered(rows, 0, arguments[1]).map(row => row.cells[0].textContent)"
    assert browser.execute_script(script, texts, 1) == ascending
    assert browser.execute_script(script, texts, -1) == [texts[place] for place in descending]


def test_a_table_is_saved_as_it_is_shown(browser, tmp_path):
    """Sorted and filtered."""
    browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary input").send_keys("moments")
    browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary thead th:nth-child(3) button").click()
    browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary .csv").click()
    shown = cells(browser, f"#{STUDY}-summary tr")
    assert saved(tmp_path) == shown and 1 < len(shown) < 20


def test_figures_are_found_by_their_words(browser):
    browser.find_element(By.ID, "figures").send_keys("by parties")
    shown = [one.get_attribute("id") for one in browser.find_elements(By.TAG_NAME, "figure") if one.is_displayed()]
    assert shown == [f"{STUDY}-error_by_parties"]
    assert browser.find_element(By.ID, "shown").text == "1 of 2"


def test_a_number_is_found_by_typing_a_method_and_a_party_count(browser):
    """Error against epsilon of the moments at four parties."""
    browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary input").send_keys("moments 4")
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{STUDY}-summary tbody tr")
    shown = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows if row.is_displayed()]
    assert [[row[0], *row[3:6]] for row in shown] == [["moments", "simulated", "4", target] for target in ("8", "64")]
    assert all(float(row[8].split(" ")[0]) > 0 for row in shown)


def test_claimed_and_certified_stay_in_view(browser):
    """Whatever column of the summary one looks at."""
    box = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-summary .wide")
    last = box.find_elements(By.CSS_SELECTOR, "tbody tr:last-child td")
    before = [cell.rect["x"] for cell in last]
    browser.execute_script("arguments[0].scrollLeft = 150", box)
    after = [cell.rect["x"] for cell in last]
    moved = browser.execute_script("return arguments[0].scrollLeft", box)
    assert after[:3] == before[:3] and after[2] + last[2].rect["width"] <= box.rect["x"] + box.rect["width"]
    assert moved > 0 and all(new < old for new, old in zip(after[3:], before[3:], strict=True))


def test_a_link_unfolds_what_it_leads_to(browser):
    folded = browser.find_element(By.CSS_SELECTOR, f"#{STUDY}-ledger details")
    assert folded.get_attribute("open") is None
    browser.find_element(By.CSS_SELECTOR, f"a[href='#{STUDY}-ledger']").click()
    assert folded.get_attribute("open") is not None
    assert folded.find_element(By.TAG_NAME, "table").is_displayed()


def test_making_the_report_is_cheap(finished, tmp_path):
    """Hardly more than planning the run, by CPU seconds, the least of three each, taken in turns on one machine."""
    folder = copy_run(finished, tmp_path / "project")
    count = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
    count += "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"

    def cpu(*words: str) -> float:
        command = [sys.executable, "-c", count, sys.executable, "workflow/launch.py", *TINY, *words]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
        return float(done.stdout)

    cpu("-n")  # compiles the copied sources, as the run that made the results has done for its user
    pairs = [(cpu(*REPORT), cpu("-n")) for _ in range(3)]
    made, planned = (min(seconds) for seconds in zip(*pairs, strict=True))
    # A report that imports matplotlib or fits anything is above the limit.
    assert made <= (1.4 + 0.05 * len(FIGURES)) * planned, pairs
