"""The demo's shop, several times, on free ports of this machine."""

import contextlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo"


@contextlib.contextmanager
def shops(versions):
    """Runs a shop for each of `versions` (a version by name) and gives their addresses, by name."""
    running, urls = [], {}
    try:
        for name, version in versions.items():
            command = [sys.executable, DEMO / "shop.py", "--version", str(version), "--port", "0"]
            shop = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            running.append(shop)
            urls[name] = f"http://127.0.0.1:{shop.stdout.readline().strip()}"
        yield urls
    finally:
        for shop in running:
            shop.kill()
            shop.wait()
