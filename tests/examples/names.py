"""Reads the module's metric names in Python, as an answer to check relabelled series against: no regular expressions, and no
limits to what can be decoded."""

CLASSES = {
    "pairs": ("mirror_pairs_total", ["mirror", "outcome", "reason"]),
    "triples": ("mirror_triples_total", ["mirror"]),
    "endpoint": ("mirror_endpoint_pairs_total", ["mirror", "outcome", "endpoint"]),
    "place": ("mirror_place_pairs_total", ["mirror", "kind", "tally", "place"]),
    "status": ("mirror_status_pairs_total", ["mirror", "primary", "candidate"]),
    "latency": ("mirror_answers_total", ["mirror", "side", "bucket"]),
    "diagnostic": ("mirror_diagnostics_total", ["what", "mirror"]),
    "alive": ("mirror_worker_last_tick_timestamp_seconds", ["slot"]),
    "build": ("mirror_build_info", ["version"]),
}
TEXTS = {"mirror", "endpoint", "place", "version"}


def encode(text):
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"_{byte:02x}" for byte in text.encode())


def decode(field):
    if field == "_other":
        return field
    data, rest = bytearray(), field
    while rest:
        if rest[0] == "_":
            data.append(int(rest[1:3], 16))
            rest = rest[3:]
        else:
            data.append(ord(rest[0]))
            rest = rest[1:]
    return data.decode()


def fields(name):
    """The fields of a name. A separator is `__`; a third `_` begins the field behind it."""
    rest = name.removeprefix("mirror_v1__")
    while rest != "n":
        field, _, rest = rest.partition("__")
        yield field


def labels(name):
    """The labels that a series of this name should have, with its new name."""
    family, *values = fields(name)
    new, keys = CLASSES[family]
    decoded = {key: decode(value) if key in TEXTS else value for key, value in zip(keys, values)}
    return {"__name__": new, **{key: value for key, value in decoded.items() if value}}


def exposition(page):
    """The module's samples on a Prometheus page, by name."""
    lines = (line for line in page.splitlines() if line.startswith("mirror_v1__"))
    return {line.split("{")[0].split(" ")[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
