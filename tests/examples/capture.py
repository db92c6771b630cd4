#!/usr/bin/env python3
"""The command of `kubectl mirror local`: sends the demo's traffic twice and keeps Envoy's Prometheus page after each time.

    capture.py TRAFFIC LOG_DIR OUTPUT

Writes OUTPUT-1.txt and OUTPUT-2.txt.
"""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

WITHIN_S = 30


def pairs(page):
    lines = (line for line in page.splitlines() if line.startswith("mirror_v1__pairs__"))
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def settled(url):
    """The page once its pairs, which the module counts once a second, have stopped to grow."""
    last, end = -1, time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        with urllib.request.urlopen(url, timeout=10) as answer:
            page = answer.read().decode()
        if pairs(page) == last > 0:
            return page
        last = pairs(page)
        time.sleep(2.5)
    sys.exit(f"error: the counts did not settle within {WITHIN_S} s")


def main():
    traffic, folder, output = sys.argv[1:]
    for number in (1, 2):
        subprocess.run([sys.executable, traffic], check=True)
        address = (Path(folder) / "admin.txt").read_text().strip()
        Path(f"{output}-{number}.txt").write_text(settled(f"http://{address}/stats/prometheus"))


if __name__ == "__main__":
    main()
