"""Holds a manifest against the definition of its kind, as strictly as a server does that drops nothing."""

import jsonschema
import yaml


def misfits(manifest, crd):
    """What of a manifest does not fit the CustomResourceDefinition in the file `crd`."""
    crd = yaml.safe_load(crd.read_text())
    group, version = manifest["apiVersion"].split("/")
    if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) != (group, manifest["kind"]):
        return [f"{manifest['apiVersion']} {manifest['kind']} is not what {crd['metadata']['name']} defines"]
    schema = next(v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"] if v["name"] == version)
    strict(schema)
    return [error.message[:200] for error in jsonschema.Draft7Validator(schema).iter_errors(manifest)]


def strict(schema):
    """An API server drops what a schema does not know; here it is an error. What may be of two types is left open."""
    if schema.pop("x-kubernetes-int-or-string", False):
        schema.clear()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            strict(schema[key])
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
        for name, child in schema["properties"].items():
            # Of `metadata` the schema says only that it is an object.
            if name != "metadata":
                strict(child)
