"""The items of a clip when its app's data arrives on the device, and the data that is never
transferred."""

import os

import pytest

from apps import devices, move
from bundles import ID
from outside import equal, require

SECRET = "never-to-travel-8161"
USER = "robin-7193"


def files(folder):
    """Every file's content, by its path; no links."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if os.path.islink(f"{place}/{name}"):
                continue
            with open(f"{place}/{name}", "rb") as file:
                found[f"{place}/{name}"] = file.read()
    return found


@pytest.mark.parametrize("way", ["succeeds", "fails"])
def test_local_items_stay(work, way):
    """app: no credential or account record travels, and the clip's files in the group stay, whether
    the import succeeds or fails"""
    old, new = devices(work, **({"behaviour": "throw"} if way == "fails" else {}))
    adding = old.start("app", "run", ID, "credentials", text=f"add account={USER} secret={SECRET}\ncopy account={USER}\n")
    equal(adding.wait(), 0, "exit code of the app that stores a secret")
    require(SECRET in adding.output(), f"the app does not find what it stored: {adding.text()}")
    old.peer("account", "authorize", USER, "--app", ID)
    new.run("status")
    with open(new.group("of the clip"), "w", encoding="utf-8") as file:
        file.write("a draft")

    move(old, new, codes=(7, 7) if way == "fails" else (0, 0))

    with open(new.group("of the clip"), encoding="utf-8") as file:
        equal(file.read(), "a draft", "what the clip has put into the group")
    found = {name: content for name, content in files(new.home).items() if SECRET.encode() in content or USER.encode() in content}
    equal(found, {}, "what came of the secret or of the account is")
    require(not os.path.exists(f"{new.home}/credentials"), "the destination has credentials")
    asking = new.start("app", "run", ID, "credentials", text=f"copy account={USER}\nuser {USER}\n")
    equal(asking.wait(), 0, "exit code of the app at the destination")
    require(SECRET not in asking.output() and "-25300" in asking.output(), f"the app is told: {asking.output()}")
