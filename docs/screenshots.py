"""Make screenshots of every page of the built site, of the drawings, and of a report: `make screenshots`.

Each of them is shown at 1200 and 420 pixels, light and dark, in a headless Chromium, and written to
`docs/_build/screenshots`. Elements that scroll sideways are listed, so that they are seen without looking at
every picture. Chromium is the Debian package `chromium`; the variable CHROMIUM names another path.

    python docs/screenshots.py                 every page
    python docs/screenshots.py index tutorial  some pages, or other HTML and SVG files by their paths
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from itertools import count, product
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

import wex
from wex import examples

HERE = Path(__file__).parent
SITE, PICTURES = HERE / "_build" / "html", HERE / "_build" / "screenshots"
WIDTHS, THEMES = (1200, 420), ("light", "dark")
HIGHEST = 16_000  # pixels of a page that are shown
NOT_PAGES = ("genindex", "search", "py-modindex")
# Whatever is wider than its box, and the page itself.
SIDEWAYS = """
[...document.querySelectorAll('html, pre, .table-wrapper, .highlight, img')]
  .filter(element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
  .map(element => element.tagName + '.' + element.className + ': ' + element.textContent.trim().replace(/\\s+/g, ' ').slice(0, 60))
"""


def main(names: list[str]) -> int:
    """Make the screenshots and return the exit status."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if not chromium:
        print("no Chromium found: install the package `chromium`, or set CHROMIUM to its path")
        return 2
    if not SITE.exists():
        print("no site found: run `make docs` first")
        return 2
    files = [file_of(name) for name in names] or all_files()
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        browser = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(photograph(files, Path(profile)))
        finally:
            browser.terminate()
            browser.wait()
    print(PICTURES)
    return 0


def all_files() -> list[Path]:
    """Return the pages of the site, the drawings that are stored, and a report that is made here."""
    report = HERE / "_build" / "report.html"
    wex.report(examples.spec("stocks"), examples.data("stocks"), report)
    pages = [path for path in sorted(SITE.rglob("*.html")) if path.stem not in NOT_PAGES]
    return [*pages, *sorted((HERE / "pictures").glob("*.svg")), report]


def file_of(name: str) -> Path:
    """Return the file of a page, by its name or its path."""
    return Path(name).resolve() if Path(name).exists() else SITE / f"{name}.html"


async def photograph(files: list[Path], profile: Path) -> None:
    """Make the screenshots of some files, and print what scrolls sideways."""
    tab = await opened_tab(profile)
    for file, width, theme in product(files, WIDTHS, THEMES):
        inside = file.is_relative_to(SITE)
        name = str(file.relative_to(SITE).with_suffix("")) if inside else file.stem
        await tab.show(file.as_uri(), width, theme)
        target = PICTURES / f"{name.replace('/', '-')}-{width}-{theme}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(await tab.picture(width))
        if theme == "light":
            for element in await tab.value(SIDEWAYS):
                print(f"{name} at {width}: sideways {element}")


async def opened_tab(profile: Path) -> Tab:
    """Wait until the browser listens, and return its tab."""
    port_file = profile / "DevToolsActivePort"
    for _ in range(300):
        if port_file.exists() and port_file.read_text().strip():
            break
        await asyncio.sleep(0.1)
    port = port_file.read_text().split()[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
        pages = [page for page in json.load(answer) if page["type"] == "page"]
    address = pages[0]["webSocketDebuggerUrl"]
    return Tab(await websocket_connect(address, max_message_size=1 << 28))


class Tab:
    """A tab of the browser, by the DevTools protocol."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket, self.numbers = socket, count(1)

    async def call(self, method: str, **params: object) -> Any:
        """Call a method of the protocol and return its result."""
        number = next(self.numbers)
        await self.socket.write_message(
            json.dumps({"id": number, "method": method, "params": params})
        )
        while True:
            message = json.loads(await self.socket.read_message() or "{}")
            if message.get("id") == number:  # events in between are ignored
                return message.get("result", message)

    async def value(self, script: str) -> Any:
        """Return the value of a script."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"]["value"]

    async def show(self, address: str, width: int, theme: str) -> None:
        """Load a page at a width and in a theme, and wait until its pictures are there."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        await self.call("Emulation.setEmulatedMedia", features=features)
        await self.call("Page.navigate", url=address)
        for _ in range(100):
            loaded = "document.readyState == 'complete' && location.href != 'about:blank'"
            if await self.value(loaded):
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.15)

    async def picture(self, width: int) -> bytes:
        """Return a picture of the whole page."""
        height = min(int(await self.value("document.documentElement.scrollHeight")), HIGHEST)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
