#!/usr/bin/env python3
"""Sends the demo's requests to the address in MIRROR_URL: the same 400 GETs and 20 POSTs each time, over 8 connections."""

import http.client
import os
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

CONNECTIONS = 8


def requests():
    for number in range(160):
        yield "GET", f"/products/{number}"
    for number in range(120):
        yield "GET", f"/orders/{number}"
    for _ in range(40):
        yield "GET", "/products"
    for word in range(40):
        yield "GET", f"/search?q={word}"
    for _ in range(40):
        yield "GET", "/reports/daily"
    for _ in range(20):
        yield "POST", "/orders"


def send(share):
    address = urllib.parse.urlsplit(os.environ["MIRROR_URL"])
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    failed = 0
    for method, path in share:
        connection.request(method, path, body=b"{}" if method == "POST" else None)
        response = connection.getresponse()
        response.read()
        failed += response.status >= 500
    return failed


if __name__ == "__main__":
    todo = list(requests())
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        failed = sum(pool.map(send, [todo[i::CONNECTIONS] for i in range(CONNECTIONS)]))
    print(f"{len(todo)} requests sent, {failed} failed", file=sys.stderr)
    sys.exit(1 if failed else 0)
