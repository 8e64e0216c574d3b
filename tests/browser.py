"""Pages in a real browser: Debian's Chromium, driven by Playwright. What cannot be had is a reason to skip."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The browser's path: $CHROMIUM, or one of its usual names."""
    named = os.environ.get("CHROMIUM")
    return named or next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


def why_not() -> str | None:
    """Why no browser can be started here, or None."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "needs Playwright: pip install ndcn[test]"
    return None if chromium() else "needs Chromium: apt-get install chromium, or set CHROMIUM to its path"


@contextmanager
def browser() -> Iterator[Any]:
    """A browser with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


@contextmanager
def opened(file: Path, *, width: int, height: int, theme: str = "light") -> Iterator[Any]:
    """A page that is ready."""
    with browser() as running:
        page = running.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
        page.goto(file.absolute().as_uri())
        page.wait_for_selector("html[data-ready]")
        yield page
