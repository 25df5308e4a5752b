"""The report of config/tiny.yaml in headless Chromium, without network (``./run system``).

At the width of a desk and of a phone: every figure is there and has a size, every caption says something, the filter of
the tables finds a number, and the console has no error.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from selenium import webdriver
from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

import machine  # noqa: F401 - ends the browser also when the tests are ended
from pipeline import RESULTS, STUDY, TINY, copy_run, environment, launch

pytestmark = pytest.mark.system

QUIET = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
QUIET += ["--disable-dev-shm-usage"]
WIDTHS = (1280, 390)
FIGURES = ("error_by_epsilon", "error_by_parties")
TABLES = "tables: summary, wire, ledger, configuration"
LIMIT_MB = 3.5
# How long a page may take to show what was asked for; only a loaded machine needs more than one of these seconds.
PATIENCE = 60
# What a page says of an element that it is about to draw anew or to move.
MOVING = (StaleElementReferenceException, ElementNotInteractableException)


@pytest.fixture(scope="module")
def report(finished, tmp_path_factory) -> Path:
    """The report, moved away from the results it was made of."""
    folder = copy_run(finished, tmp_path_factory.mktemp("report") / "project")
    done = launch(folder, *TINY, "--report", f"{RESULTS}/report.html")
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


def wait(browser: webdriver.Chrome) -> WebDriverWait[webdriver.Chrome]:
    """Ask until something is so."""
    return WebDriverWait(browser, PATIENCE, ignored_exceptions=MOVING)


def found(browser: webdriver.Chrome, path: str) -> WebElement:
    """The first element of an XPath that is shown; waits for it."""

    def shown(page: webdriver.Chrome) -> WebElement | Literal[False]:
        return next((e for e in page.find_elements(By.XPATH, path) if e.is_displayed()), False)

    return wait(browser).until(shown, f"nothing at {path}")


def click(browser: webdriver.Chrome, path: str) -> None:
    """Click on what is shown at an XPath, once it stands still."""

    def clicked(page: webdriver.Chrome) -> bool:
        found(page, path).click()
        return True

    wait(browser).until(clicked, f"no click at {path}")


def open_study(browser: webdriver.Chrome) -> None:
    """Menu, results, and the one study of this run."""
    if not browser.find_elements(By.XPATH, "//*[text()='Results']"):
        click(browser, "//button | //*[@role='button']")
    click(browser, "//*[text()='Results']")
    found(browser, f"//*[text()='{TABLES}']")


def press(browser: webdriver.Chrome, content: str, which: int) -> None:
    """Press the eye (1) or the i (2) beside an entry of the menu."""
    click(browser, f"//*[text()='{content}']/following::*[name()='svg'][{which}]")


def close_menu(browser: webdriver.Chrome) -> None:
    """Give the whole width to what is shown."""
    click(browser, "//*[text()='Report']/following::*[name()='svg'][1]")


def test_the_report_is_one_small_file(report):
    assert report.stat().st_size < LIMIT_MB * 2**20
    assert b"partywise" in report.read_bytes()


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_shown_with_its_caption(browser, figure):
    open_study(browser)
    press(browser, figure, 1)
    close_menu(browser)
    image = found(browser, "//img[not(contains(@src, 'logo'))] | //object | //iframe | //embed")
    wait(browser).until(lambda _: image.size["width"] > 100 and image.size["height"] > 100, f"{figure} has no size")
    if image.tag_name == "img":
        drawn = "return arguments[0].naturalWidth"
        wait(browser).until(lambda page: page.execute_script(drawn, image) > 100, f"{figure} is not drawn")
    browser.refresh()
    open_study(browser)
    press(browser, figure, 2)
    caption = wait(browser).until(
        lambda page: (text := page.find_element(By.TAG_NAME, "body").text) and f"figure {figure}" in text and text
    )
    assert f"Study {STUDY}" in caption and "replicates, parties" in caption


def test_a_number_is_found_by_typing_a_method_and_a_party_count(browser):
    """Error against epsilon of the moments at four parties, in three presses and one line of typing."""
    open_study(browser)
    press(browser, TABLES, 1)
    close_menu(browser)
    browser.switch_to.frame(found(browser, "//iframe"))
    found(browser, "//input[@data-table='summary-rows']").send_keys("moments 4")
    rows = [row for row in browser.find_elements(By.CSS_SELECTOR, "#summary-rows tbody tr") if row.is_displayed()]
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    assert [row[1:4] for row in cells] == [["moments", "4", "8"], ["moments", "4", "64"]]
    assert all(float(row[4].split(" ")[0]) > 0 for row in cells)
    titles = [heading.text for heading in browser.find_elements(By.TAG_NAME, "h2")]
    assert titles == ["Summary", "What crosses the wire", "Ledger", "Configuration", "Versions"]


def test_making_the_report_is_cheap(finished, tmp_path):
    """At most 5 CPU s and a little for each figure."""
    folder = copy_run(finished, tmp_path / "project")
    count = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
    count += "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    words = [sys.executable, "-m", "snakemake", *TINY, "--report", f"{RESULTS}/report.html"]
    command = [sys.executable, "-c", count, *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 5 + 0.2 * len(FIGURES)
