"""The UserDefaults that apps and extensions set without synchronizing, and an import's progress in
the form of its author."""

import os
import plistlib

import pytest

from apps import GROUP, devices, move
from outside import equal, require


def defaults(path):
    """The values of a property list."""
    require(os.path.exists(path), f"there is no {path}")
    with open(path, "rb") as file:
        return plistlib.load(file)


@pytest.mark.parametrize("how", ["keep", "keep and exit"])
def test_an_apps_values_are_kept(work, how):
    """app: unsynchronized defaults are there at the next start, after return from main or exit"""
    old, _ = devices(work)
    for suite in ["suite.of.the.app", GROUP, "standard"]:
        old.run(how, suite, "colour", f"of {suite}")
    equal(old.run("get", "suite.of.the.app", "colour"), "of suite.of.the.app", "a suite")
    equal(old.run("get", GROUP, "colour"), f"of {GROUP}", "the group's suite")
    equal(
        defaults(old.group(f"Library/Preferences/{GROUP}.plist"))["colour"], f"of {GROUP}", "the group's property list")
    kept = [
        values for name in os.listdir(old.container(".config"))
        if name not in ("suite.of.the.app.plist", f"{GROUP}.plist")
        and (values := defaults(old.container(f".config/{name}"))).get("colour") == "of standard"]
    equal(len(kept), 1, "property lists with the app's own defaults")
    if how == "keep and exit":
        equal(old.run("get", "at the end", "late"), "said late", "what another handler set at the end")


def test_an_importers_values_arrive(work):
    """app: unsynchronized defaults of an importer that empties its group are there at the app's first start"""
    old, new = devices(work, behaviour="defaults")
    move(old, new)
    equal(new.run("get", "suite.of.the.app", "imported"), "of suite.of.the.app", "a suite")
    equal(new.run("get", GROUP, "imported"), f"of {GROUP}", "the group's suite")
    own = [name for name in os.listdir(new.container(".config"))
           if defaults(new.container(f".config/{name}")).get("standard") == "of the extension"]
    equal(len(own), 1, "property lists with the extension's own defaults")
    work.figure = own[0]


def test_a_tester_refuses_to_work_in_an_app(work):
    """app: a tester in a program that is not a test reports that"""
    old, _ = devices(work)
    told = old.run("tester")
    require("neither XCTest nor Testing" in told, f"it says {told!r}")
