"""Checks the CRD as an API server would: its structure, its defaults, and its CEL rules by a CEL implementation.

usage: crd_test.py CRD.yaml FOLDER

FOLDER holds good/*.yaml and bad/*.yaml with bad/*.faults. The native rules of `freezepipe validate` are tested
against the same files, so what holds here holds there. Manifests with faults of the schema are left out: the API
server doesn't evaluate rules on them.
"""

import pathlib
import sys
import unittest

import celpy
import yaml
from celpy import celtypes


def is_sorted(items):
    """Kubernetes' own addition to CEL's lists."""
    return celtypes.BoolType(all(a <= b for a, b in zip(items, items[1:])))


ENVIRONMENT = celpy.Environment()


def compile_rule(rule):
    return ENVIRONMENT.program(ENVIRONMENT.compile(rule["rule"]), functions={"isSorted": is_sorted})


def to_cel(schema, value):
    """A value as the API server hands it to CEL: typed by the schema, not by how it is written."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return celtypes.MapType({celtypes.StringType(k): to_cel(properties.get(k, {}), v) for k, v in value.items()})
    if isinstance(value, list):
        return celtypes.ListType([to_cel(schema.get("items", {}), item) for item in value])
    kinds = {"integer": celtypes.IntType, "boolean": celtypes.BoolType, "string": celtypes.StringType}
    if schema.get("type") == "number":
        return celtypes.DoubleType(float(value))
    return kinds.get(schema.get("type"), lambda v: celpy.json_to_cel(v))(value)


def with_defaults(schema, value):
    """Absent and null fields get their defaults, from the outside in; other nulls are dropped."""
    if isinstance(value, list):
        return [with_defaults(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    result = {k: v for k, v in value.items() if k not in schema["properties"]}
    for name, inner in schema["properties"].items():
        given = value.get(name)
        if given is None:
            given = inner.get("default")
        if given is not None:
            result[name] = with_defaults(inner, given)
    return result


def of_updates_alone(rule):
    return "oldSelf" in rule["rule"]


def broken_rules(schema, value, path=""):
    """Yields 'path: message' for each rule that doesn't hold, anywhere in a value."""
    for rule in schema.get("x-kubernetes-validations", []):
        if of_updates_alone(rule):
            continue
        if not compile_rule(rule).evaluate({"self": to_cel(schema, value)}):
            yield f"{path}{rule['fieldPath']}: {rule['message']}"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from broken_rules(schema["items"], item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from broken_rules(inner, value[name], f"{path}.{name}" if path else name)


def nodes(schema, path="", in_list=False):
    yield path, schema, in_list
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}", in_list)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]", True)


class CrdTest(unittest.TestCase):
    crd: dict
    manifests: pathlib.Path

    def setUp(self):
        self.schema = self.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        self.nodes = list(nodes(self.schema))
        self.rules = [(p, s, r) for p, s, _ in self.nodes for r in s.get("x-kubernetes-validations", [])]

    def test_names(self):
        names = self.crd["spec"]["names"]
        self.assertEqual(self.crd["metadata"]["name"], f"{names['plural']}.{self.crd['spec']['group']}")
        self.assertEqual(names["shortNames"], ["fpj"])
        self.assertEqual(self.crd["spec"]["versions"][0]["subresources"], {"status": {}})

    def test_is_structural(self):
        for path, schema, _ in self.nodes:
            self.assertIn(schema.get("type"), {"object", "array", "string", "integer", "number", "boolean"}, path)
            if schema["type"] == "array":
                self.assertIn("items", schema, path)
            if schema["type"] == "object":
                open_ = schema.get("x-kubernetes-preserve-unknown-fields", False)
                self.assertTrue("properties" in schema or open_ or path == ".metadata", path)
            self.assertNotIn("additionalProperties", schema, path)
            for name in schema.get("required", []):
                self.assertIn(name, schema["properties"], path)

    def test_every_field_is_described(self):
        for path, schema, in_list in self.nodes:
            if not path.startswith(".metadata") and not path.endswith("[]"):
                self.assertTrue(schema.get("description"), path)

    def test_defaults_fit(self):
        kinds = {"object": dict, "string": str, "integer": int, "number": (int, float), "boolean": bool}
        for path, schema, _ in self.nodes:
            if "default" not in schema:
                continue
            default = schema["default"]
            self.assertIsInstance(default, kinds[schema["type"]], path)
            if "enum" in schema:
                self.assertIn(default, schema["enum"], path)
            if "minimum" in schema:
                self.assertGreaterEqual(default, schema["minimum"], path)
            if "maximum" in schema:
                self.assertLessEqual(default, schema["maximum"], path)
            # The API server runs the rules on a default before the fields in it get theirs.
            self.assertEqual(list(broken_rules(schema, default)), [], path)

    def test_rules_point_at_fields(self):
        paths = {path for path, _, _ in self.nodes}
        for path, _, rule in self.rules:
            self.assertIn(path + rule["fieldPath"], paths)

    def test_lists_that_rules_go_through_are_bounded(self):
        for path, schema, _ in self.nodes:
            items = [s for p, s, _ in nodes(schema.get("items", {})) if "x-kubernetes-validations" in s]
            if schema["type"] == "array" and items:
                self.assertIn("maxItems", schema, path)

    def test_rules_hold_for_good_manifests(self):
        for path in sorted(self.manifests.glob("good/*.yaml")):
            with self.subTest(path.stem):
                manifest = with_defaults(self.schema, yaml.safe_load(path.read_text()))
                self.assertEqual(list(broken_rules(self.schema, manifest)), [])

    def test_rules_agree_with_the_native_ones(self):
        messages = {rule["message"] for _, _, rule in self.rules if not of_updates_alone(rule)}
        broken = set()
        for path in sorted(self.manifests.glob("bad/*.yaml")):
            expected = path.with_suffix(".faults").read_text().splitlines()
            if not all(line.split(": ", 1)[-1] in messages for line in expected):
                continue
            with self.subTest(path.stem):
                manifest = with_defaults(self.schema, yaml.safe_load(path.read_text()))
                self.assertEqual(sorted(broken_rules(self.schema, manifest)), expected)
            broken.update(line.split(": ", 1)[-1] for line in expected)
        self.assertEqual(broken, messages, "every rule has a manifest that breaks it and nothing else")


if __name__ == "__main__":
    CrdTest.crd = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    CrdTest.manifests = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
