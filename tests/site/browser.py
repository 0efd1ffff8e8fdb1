"""Pages in headless Chromium, driven by Selenium.

Tests that use it skip with a notice where Selenium, Chromium or ChromeDriver is missing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PLACES = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "chromedriver": ("chromedriver",)}
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1200,900"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def _found(name: str) -> str:
    for place in PLACES[name]:
        if path := shutil.which(place):
            return path
    pytest.skip(f"{name} is not installed: no page is opened in a browser")


@contextmanager
def opened(dark: bool = False) -> Iterator[Any]:
    """A browser of its own, as a driver of Selenium; `dark` prefers the dark scheme of colours."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install '.[docs]': no page is opened in a browser")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _found("chromium")
    with tempfile.TemporaryDirectory() as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(_found("chromedriver")))
        try:
            driver.set_page_load_timeout(60)
            if dark:
                media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            yield driver
        finally:
            driver.quit()
