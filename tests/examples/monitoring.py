#!/usr/bin/env python3
"""Loads examples/monitoring into the real programs: the manifests against the Prometheus Operator's schemas, the rules into
promtool, the relabelling and all queries of the dashboard into a Prometheus that scrapes what real Envoys counted.

    monitoring.py PLUGIN TOOLS      TOOLS is the folder that get-monitoring.sh filled
"""

import http.server
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

import names
from crds import misfits
from shops import DEMO, ROOT, shops

HERE = Path(__file__).resolve().parent
MONITORING = ROOT / "examples" / "monitoring"
WITHIN_S = 40
# More slashes than the relabelling decodes.
TOO_MANY = 30

failures = []


def check(what, holds, otherwise=""):
    print(f"{'ok' if holds else 'FAILED':6} {what}{'' if holds else f': {otherwise}'}")
    if not holds:
        failures.append(what)


# Manifests


def fits_its_schema(tools, name):
    manifest = yaml.safe_load((MONITORING / f"{name}.yaml").read_text())
    wrong = misfits(manifest, tools / "crds" / f"monitoring.coreos.com_{manifest['kind'].lower()}s.yaml")
    check(f"{name}.yaml fits the schema of {manifest['kind']}", not wrong, wrong)
    return manifest["spec"]


def scrape_rules(spec):
    """The relabelling as Prometheus itself spells it, which the operator makes of it."""
    spelled = {"sourceLabels": "source_labels", "targetLabel": "target_label"}
    [endpoint] = spec["podMetricsEndpoints"]
    return [{spelled.get(key, key): value for key, value in rule.items()} for rule in endpoint["metricRelabelings"]]


def rules_pass(tools, work, spec):
    (work / "rules.yaml").write_text(yaml.safe_dump(spec))
    shutil.copy(HERE / "alerts.yaml", work)
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "alerts.yaml"]):
        done = subprocess.run([tools / "promtool", *command], cwd=work, capture_output=True, text=True)
        check(f"promtool {' '.join(command)}", done.returncode == 0, done.stdout + done.stderr)


def buckets_are_right(spec):
    """Each recorded bucket holds the module's buckets up to its bound, which lie an eighth of an octave apart from 50 µs on."""
    rules = [rule for group in spec["groups"] for rule in group["rules"] if rule.get("record") == "mirror:answers_bucket:rate5m"]
    wrong = []
    for rule in rules:
        pattern = re.search('bucket=~"([^"]+)"', rule["expr"])
        if rule["labels"]["le"] == "+Inf":
            continue
        held = [bucket for bucket in range(194) if re.fullmatch(pattern[1], str(bucket))]
        end = 50e-6 * 2 ** (held[-1] / 8)
        if held != list(range(len(held))) or abs(float(rule["labels"]["le"]) / end - 1) > 1e-3:
            wrong.append((rule["labels"]["le"], held[-1], end))
    check(f"the bounds of {len(rules)} recorded buckets", len(rules) == 30 and not wrong, wrong)


# What is scraped


def capture(plugin, work, secondary):
    """Two pages of a real Envoy, with more counted on the second one."""
    versions = {"primary": 1, "candidate": 2, **({"secondary": 1} if secondary else {})}
    folder, output = work / f"envoy-{len(versions)}", work / f"page-{len(versions)}"
    with shops(versions) as urls:
        sides = [word for side, url in urls.items() for word in (f"--{side}", url)]
        command = [plugin, "local", "--name", "demo/shop", *sides, "--log-dir", folder, "-o", "name", "--"]
        command += [sys.executable, HERE / "capture.py", DEMO / "traffic.py", folder, output]
        subprocess.run(command, check=True, timeout=180, stdout=subprocess.DEVNULL)
    return [Path(f"{output}-{number}.txt").read_text() for number in (1, 2)]


def odd_pages():
    """What the demo does not count: rare outcomes, and texts that need all of the decoding."""
    n = names.encode
    mirror = n("my-own.team/a_b-c")
    counted = [f"pairs__{mirror}__match", f"pairs__{mirror}__skipped__too_large", f"pairs__{mirror}__incomplete__shadow_slow"]
    counted += [f"diagnostic__config_rejected__{mirror}", "diagnostic__orphan", f"status__{mirror}___other"]
    places = ["/a_b/__c/_other", "/" + "x/" * 13, "/" + "x/" * TOO_MANY, "header:x-a-b-c-d-e-f-g", "cookie:SID", "status", "/n", "", "/*/*/~1/~0/*"]
    counted += [f"place__{mirror}__value__diverged__{n(place)}" for place in places]
    counted += [f"place__{mirror}__type__noise___other", f"place__{mirror}__value__secondary__{n('/at')}"]
    endpoints = ["GET /users/{id}/orders/{id}", "OPTIONS *", "GET /v1.2/a:b/n"]
    counted += [f"endpoint__{mirror}__diverged__{n(endpoint)}" for endpoint in endpoints]
    counted += [f"endpoint__{mirror}__match___other", f"build__{n('0.1.0-rc.1')}"]
    return ["".join(f"mirror_v1__{name}__n{{}} {count}\n" for name in counted) for count in (100, 300)]


class Gateways(http.server.ThreadingHTTPServer):
    """Serves the pages of several gateways, the first ones until told to go on."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Page)
        self.pages, self.phase, self.asked = pages, 0, {name: [0, 0] for name in pages}


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/")
        server = self.server
        phase = server.phase
        body = server.pages[name][phase].encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        server.asked[name][phase] += 1

    def log_message(self, *_):
        pass


# Prometheus


class Prometheus:
    def __init__(self, tools, work, gateways, relabelling):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{address}"
        jobs = [
            {
                "job_name": name,
                "metrics_path": f"/{name}",
                "static_configs": [{"targets": [f"127.0.0.1:{gateways.server_port}"], "labels": {"pod": name}}],
                "metric_relabel_configs": relabelling,
            }
            for name in gateways.pages
        ]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": jobs,
        }
        (work / "prometheus.yaml").write_text(yaml.safe_dump(config))
        checked = subprocess.run([tools / "promtool", "check", "config", work / "prometheus.yaml"], capture_output=True, text=True)
        check("promtool check config", checked.returncode == 0, checked.stdout + checked.stderr)
        self.log = work / "prometheus.log"
        options = [f"--config.file={work}/prometheus.yaml", f"--storage.tsdb.path={work}/data", f"--web.listen-address={address}"]
        self.process = subprocess.Popen([tools / "prometheus", *options], stdout=self.log.open("w"), stderr=subprocess.STDOUT)

    def query(self, expression):
        """The series of an instant query, as (labels, value)."""
        url = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                result = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{expression}: {error.read().decode()}") from error
        return [(series["metric"], float(series["value"][1])) for series in result]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def until(what, holds):
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"error: {what} within {WITHIN_S} s")


def series_are_right(prometheus, gateways):
    def known(labels):
        return frozenset((key, value) for key, value in labels.items() if key not in ("instance", "job", "pod"))

    def is_decoded(labels):
        return labels.get("place", "").count("/") < TOO_MANY and "_2f" not in labels.get("place", "")

    for name, (_, page) in gateways.pages.items():
        all_labels = [(names.labels(metric), value) for metric, value in names.exposition(page).items()]
        series = prometheus.query(f'{{__name__=~"mirror_.+", pod="{name}"}}')
        mirrors = [{labels["mirror"] for labels, _ in some if "mirror" in labels} for some in (all_labels, series)]
        check(f"the mirrors of {name}", mirrors[0] == mirrors[1] and len(series) == len(all_labels), mirrors)
        expected, found = ({known(labels): value for labels, value in some if is_decoded(labels)} for some in (all_labels, series))
        wrong = [(dict(key), expected.get(key), found.get(key)) for key in expected.keys() ^ found.keys()]
        wrong += [(dict(key), expected[key], found[key]) for key in expected.keys() & found.keys() if expected[key] != found[key]]
        check(f"{len(expected)} series of {name} have the right labels", len(expected) > 20 and not wrong, wrong[:5])


def report_is_right(plugin, prometheus, gateways):
    """The plugin's report from this Prometheus: all began to count while it watched, so it has seen all that their pages say."""
    command = [plugin, "report", "demo/shop", "--prometheus", prometheus.url, "--since", "5m", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check("kubectl mirror report --prometheus", done.returncode == 0, done.stderr)
    if done.returncode != 0:
        return
    [mirror] = json.loads(done.stdout)["mirrors"]
    expected = {"pairs": {}, "place": {}, "latency": {}}
    for _, page in gateways.pages.values():
        for name, value in names.exposition(page).items():
            labels = names.labels(name)
            family = next(names.fields(name))
            if family not in expected or labels.get("mirror") != "demo/shop":
                continue
            keys = {"pairs": ["outcome", "reason"], "place": ["place", "kind", "tally"], "latency": ["side", "bucket"]}[family]
            key = tuple(labels.get(key) for key in keys)
            expected[family][key] = expected[family].get(key, 0) + int(value)
    found = {
        "pairs": {(row["outcome"], row["reason"]): row["pairs"] for row in mirror["outcomes"]},
        "place": {
            (row["place"], row["kind"], tally): count
            for row in mirror["places"]
            for tally, count in row["tallies"].items()
            if count
        },
        "latency": {
            (side, bucket): count for side in ("primary", "candidate") for bucket, count in mirror["latency"][side]["buckets"].items()
        },
    }
    for family, counts in expected.items():
        # What only the secondary showed is no row of a report.
        places = {key[:2] for key in found["place"]}
        counts = {key: count for key, count in counts.items() if count and (family != "place" or key[:2] in places)}
        same = bool(counts) and counts == found[family]
        check(f"its {len(counts)} counts of {family} are those of the pages", same, [counts, found[family]])


def dashboard_works(prometheus):
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    check("the dashboard's variables", variables == {"datasource", "mirror"}, variables)
    cells = set()
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        own = {(x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])}
        check(f"panel {panel['title']} has a place of its own", not cells & own and grid["x"] + grid["w"] <= 24, grid)
        cells |= own
        for target in panel["targets"]:
            query = target["expr"]
            for variable, value in (("$mirror", ".+"), ("$__range", "2m"), ("$__rate_interval", "1m")):
                query = query.replace(variable, value)
            series = prometheus.query(query)
            numbers = [value for _, value in series if value == value]
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            named = all(legend - {"reason"} <= labels.keys() for labels, _ in series)
            check(f"  {query[:100]}…", bool(numbers) and "$" not in query and named, series[:3])
    ids = [panel["id"] for panel in dashboard["panels"]]
    check("the panels' ids", len(ids) == len(set(ids)))


def dashboard_is_known(tools):
    done = subprocess.run([tools / "reader", "grafana-dashboard", MONITORING / "dashboard.json"], capture_output=True, text=True)
    check("dashboard.json is what Grafana's types know", done.returncode == 0, done.stderr)


def main():
    plugin, tools = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        relabelling = scrape_rules(fits_its_schema(tools, "podmonitor"))
        rules = fits_its_schema(tools, "prometheusrule")
        dashboard_is_known(tools)
        rules_pass(tools, work, rules)
        buckets_are_right(rules)
        pages = {"gw-1": capture(plugin, work, False), "gw-2": capture(plugin, work, True), "gw-odd": odd_pages()}
        gateways = Gateways(pages)
        threading.Thread(target=gateways.serve_forever, daemon=True).start()
        prometheus = Prometheus(tools, work, gateways, relabelling)
        try:
            until("Prometheus did not scrape", lambda: all(asked[0] >= 2 for asked in gateways.asked.values()))
            gateways.phase = 1
            until("Prometheus did not scrape again", lambda: all(asked[1] >= 4 for asked in gateways.asked.values()))
            until("nothing was recorded", lambda: prometheus.query("mirror:answers_bucket:rate5m > 0"))
            series_are_right(prometheus, gateways)
            dashboard_works(prometheus)
            report_is_right(plugin, prometheus, gateways)
        finally:
            prometheus.stop()
            gateways.shutdown()
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("the monitoring examples work")


if __name__ == "__main__":
    main()
