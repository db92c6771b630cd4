#!/usr/bin/env python3
"""A small shop in two versions that differ as versions do: on purpose, by accident, and by nature.

    shop.py --version 1|2 --port PORT

Both versions stamp answers with the time and an id (they differ from themselves).  Version 2 also
- rounds some prices wrongly (every fifth product),
- gives products a new field, `stock`,
- lists products in another order,
- fails for some orders (every tenth) with a 500,
- answers searches more slowly,
- sends the daily report gzipped (the same content, so no difference).
"""

import argparse
import gzip
import json
import os
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMES = ["lamp", "chair", "desk", "shelf", "clock", "mirror", "rug", "vase"]


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    version = 1
    posts_seen = 0

    def do_GET(self):
        parts = self.path.partition("?")[0].strip("/").split("/")
        match parts:
            case ["products"]:
                self.products()
            case ["products", number]:
                self.product(int(number))
            case ["orders", number]:
                self.order(int(number))
            case ["search"]:
                self.search()
            case ["reports", "daily"]:
                self.report()
            case ["posts-seen"]:
                self.answer(200, {"posts": Shop.posts_seen})
            case _:
                self.answer(404, {"error": "not found"})

    def do_POST(self):
        Shop.posts_seen += 1
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(201, {"accepted": True})

    def product(self, number):
        cents = 1999 + 250 * number
        price = cents / 100
        if self.version == 2 and number % 5 == 0:
            price = round(price)
        product = {"id": number, "name": NAMES[number % len(NAMES)], "price": price, **self.stamps()}
        if self.version == 2:
            product["stock"] = 3
        self.answer(200, product)

    def products(self):
        items = [{"id": i, "name": name} for i, name in enumerate(NAMES)]
        if self.version == 2:
            items.sort(key=lambda item: item["name"])
        self.answer(200, {"items": items, "total": len(items), **self.stamps()})

    def order(self, number):
        if self.version == 2 and number % 10 == 0:
            self.answer(500, {"error": "no such column: shipped_on"})
        else:
            self.answer(200, {"id": number, "state": "shipped", **self.stamps()})

    def search(self):
        if self.version == 2:
            time.sleep(0.03)
        self.answer(200, {"hits": 2, "first": "lamp", **self.stamps()})

    def report(self):
        rows = [{"day": day, "sold": day * 7 % 31} for day in range(1, 31)]
        self.answer(200, {"rows": rows}, compress=self.version == 2)

    def stamps(self):
        # The last digits of the time are the process's own, so that no two answers happen to say the same.
        nanoseconds = time.time_ns() // 10_000 * 10_000 + os.getpid() % 10_000
        return {"served_at": nanoseconds, "trace": uuid.uuid4().hex}

    def answer(self, status, document, compress=False):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if compress:
            body = gzip.compress(body)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", type=int, choices=[1, 2], required=True)
    parser.add_argument("--port", type=int, required=True, help="0 for a free one, which is printed")
    options = parser.parse_args()
    Shop.version = options.version
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Shop)
    print(server.server_address[1], flush=True)
    server.serve_forever()
