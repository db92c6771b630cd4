// What the tests report on: an admin page as Envoy has it, with counters of mirrors, and a log with examples. Texts from
// outside are as hostile as they come.

import { createServer } from "node:http";

export const HOSTILE = `"><script>document.title='broken'</script><img src=x onerror="document.title='broken'">`;

/// A metric's name, as filter/core/src/stats/names writes it; `text`s are escaped, words stand as they are.
const name = (...fields) => `wasmcustom.mirror_v1__${[...fields, "n"].join("__")}`;
const text = (value) =>
  [...Buffer.from(value)]
    .map((byte) => (/[A-Za-z0-9]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `_${byte.toString(16).padStart(2, "0")}`))
    .join("");

function hello() {
  const mirror = text("default/hello");
  const counters = [
    [name("pairs", mirror, "match"), 954],
    [name("pairs", mirror, "diverged"), 149],
    [name("pairs", mirror, "noise"), 100],
    [name("pairs", mirror, "incomplete", "shadow_slow"), 40],
    [name("pairs", mirror, "skipped", "too_large"), 30],
    [name("triples", mirror), 1203],
    [name("status", mirror, 200, 200), 1200],
    [name("status", mirror, 200, 503), 3],
  ];
  const places = [
    ["/items/*/price", "value", 120, 0, 0],
    ["/items/*/currency", "missing", 29, 0, 0],
    [`/an/order/with/a/very/long/path/${"that-needs-room/".repeat(6)}`, "type", 7, 0, 0],
    [`header:${HOSTILE}`, "added", 4, 0, 0],
    ["/served_at", "value", 2, 1190, 1201],
  ];
  for (const [place, kind, ...tallies] of places) {
    ["diverged", "noise", "secondary"].forEach((tally, i) => {
      if (tallies[i] > 0) counters.push([name("place", mirror, kind, tally, text(place)), tallies[i]]);
    });
  }
  const endpoints = { "GET /items": [854, 149, 0, 0, 0], [`GET /${HOSTILE}`]: [100, 0, 100, 40, 30] };
  for (const [endpoint, pairs] of Object.entries(endpoints)) {
    ["match", "diverged", "noise", "incomplete", "skipped"].forEach((outcome, i) => {
      if (pairs[i] > 0) counters.push([name("endpoint", mirror, outcome, text(endpoint)), pairs[i]]);
    });
  }
  // Two hills; the candidate's lie six buckets further right.
  for (let bucket = 30; bucket < 90; bucket += 1) {
    const hill = (centre, height, width) => height * Math.exp(-(((bucket - centre) / width) ** 2));
    const count = (shift) => Math.round(hill(45 + shift, 90, 6) + hill(66 + shift, 25, 8));
    counters.push([name("latency", mirror, "primary", bucket), count(0)]);
    counters.push([name("latency", mirror, "candidate", bucket), count(6)]);
  }
  return counters;
}

function orders() {
  const mirror = text("shop/orders");
  return [
    [name("pairs", mirror, "match"), 5000],
    [name("endpoint", mirror, "match", text("GET /orders")), 5000],
    [name("status", mirror, 200, 200), 5000],
  ];
}

const nothing = () => [];

/// The reports, by name.
export const REPORTS = {
  one: hello,
  several: () => [...hello(), ...orders()],
  nothing,
};

/// Lines of Envoy's log with an example for some places.
export function log() {
  const line = (place, kind, primary, candidate) =>
    `[warning] wasm log: kubectl-mirror example ${JSON.stringify({
      v: 1, time: "2026-11-30T14:00:00.000Z", mirror: "default/hello", pair: "b2c1", endpoint: "GET /items", place, kind,
      primary, candidate, statuses: [200, 200], latencies_us: null,
    })}\n`;
  return [
    line("/items/*/price", "value", "10", "12"),
    line("/items/*/currency", "missing", '"EUR"', null),
    line(`header:${HOSTILE}`, "added", null, HOSTILE),
  ].join("");
}

/// Serves an Envoy's admin page with these counters; resolves to its address and a way to end it.
export async function admin(counters) {
  const now = Math.floor(Date.now() / 1000);
  const alive = [0, 1, 2].map((slot) => [name("alive", slot), now]);
  const delivery = "extension_config_discovery.upstream_http_filter.kubectl-mirror.update_success";
  const all = [...counters, ...alive, [name("build", text("0.1.0")), 1], [delivery, 1]];
  const pages = {
    "/stats": { stats: all.map(([name, value]) => ({ name, value })) },
    "/server_info": {
      version: "0123/1.40.0/Clean/RELEASE/BoringSSL", uptime_all_epochs: "600s", command_line_options: { concurrency: 2 },
    },
  };
  const server = createServer((request, response) => {
    const page = pages[request.url.split("?")[0]];
    response.writeHead(page ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(page ?? null));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
