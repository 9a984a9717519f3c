"""Checks strictly whether an event follows docs/events.schema.json: a member that the schema does
not name is a mistake.

Consumers skip events and members that a later edition adds, so the schema allows them. This program
and its schema are of one edition: each event has its definition, and each member of each object is
named. A few words of JSON Schema 2020-12 are enough for that; a word that this module does not know
is a mistake in the schema.
"""

import contextlib
import functools
import json
import os
import re

from outside import ROOT

TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float),
}
KNOWN = {
    "description", "type", "properties", "required", "items", "enum", "const", "pattern", "minimum", "maximum", "anyOf", "oneOf", "$ref",
}


@functools.cache
def schema():
    with open(f"{ROOT}/docs/events.schema.json", encoding="utf-8") as file:
        return json.load(file)


def mistake_of(process):
    """The first mistake in the lines that a run of the command with --json has written; None if there is none."""
    if b"--json" in map(os.fsencode, process.arguments):
        with contextlib.suppress(OSError), open(process.out_path, encoding="utf-8", errors="replace") as out:
            for line in out.read().split("\n")[:-1]:
                # An app that runs writes its own lines.
                with contextlib.suppress(json.JSONDecodeError):
                    if wrong := mistake(json.loads(line)):
                        return wrong
    return None


def mistake(event):
    """The mistake in an event; None if there is none."""
    names = {name for name in schema()["$defs"] if not name.startswith("type-")}
    if not isinstance(event, dict) or event.get("event") not in names:
        return f"{event!r:.200} is no event that docs/events.schema.json names"
    found = next(mistakes(event, schema()["$defs"][event["event"]], "event"), None)
    return found and f"{found}, in {json.dumps(event)[:300]}"


def is_of(value, name):
    """Whether a value has a type. True and False are numbers in Python, and not in JSON."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def mistakes(value, rule, place):
    """The mistakes of a value by a rule, one after the other."""
    unknown = set(rule) - KNOWN
    if unknown:
        yield f"the schema of {place} has words that are not known here: {sorted(unknown)}"
    if "$ref" in rule:
        yield from mistakes(value, schema()["$defs"][rule["$ref"].removeprefix("#/$defs/")], place)
    if "type" in rule and not is_of(value, rule["type"]):
        yield f"{place} is no {rule['type']}"
        return
    if "const" in rule and value != rule["const"]:
        yield f"{place} is not {rule['const']!r}"
    if "enum" in rule and not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in rule["enum"]):
        yield f"{place} is {value!r}, and none of {rule['enum']}"
    if "pattern" in rule and not re.search(rule["pattern"], value):
        yield f"{place} is {value!r}, and does not match {rule['pattern']}"
    if value is not None and ("minimum" in rule or "maximum" in rule) and not (
            rule.get("minimum", value) <= value <= rule.get("maximum", value)):
        yield f"{place} is {value!r}, and out of its bounds"
    if "anyOf" in rule and all(any(True for _ in mistakes(value, one, place)) for one in rule["anyOf"]):
        yield f"{place} is {value!r}, and nothing that it may be"
    if "oneOf" in rule and sum(set(one["required"]) <= set(value) for one in rule["oneOf"]) != 1:
        yield f"{place} does not have exactly one of {[one['required'] for one in rule['oneOf']]}"
    if isinstance(value, dict):
        named = rule.get("properties", {})
        for name in sorted(set(rule.get("required", ())) - set(value)):
            yield f"{place} has no member {name!r}"
        for name, part in value.items():
            if name not in named:
                if "properties" in rule:
                    yield f"{place} has a member {name!r} that the schema does not name"
            else:
                yield from mistakes(part, named[name], f"{place}.{name}")
    if isinstance(value, list):
        for part in value:
            yield from mistakes(part, rule["items"], f"{place}[]")
