"""The bundle of the app that is migrated: by the checks, and where its migration is measured."""

import os
import plistlib
import shutil
import subprocess

ID = "org.example.test"
GROUP = "group.org.example.test"


def make_bundle(programs, path, identifier, program="TestAppExtension", info=None):
    """Puts a bundle together from the folder of the programs. The name that the extension's program gets says what it is."""
    extension = "Extensions/Migration.appex"
    os.makedirs(f"{path}/{extension}")
    shutil.copy(f"{programs}/TestApp", path)
    shutil.copy(f"{programs}/TestAppExtension", f"{path}/{extension}/{program}")
    groups = {"com.apple.security.application-groups": [GROUP]}
    lists = {
        "Info.plist": {
            "CFBundleIdentifier": identifier, "CFBundleShortVersionString": "1.0", "CFBundleExecutable": "TestApp",
            **(info or {})},
        "Entitlements.plist": dict(groups),
        f"{extension}/Info.plist": {
            "CFBundleIdentifier": f"{identifier}.migration", "CFBundleExecutable": program,
            "EXAppExtensionAttributes": {"EXExtensionPointIdentifier": "com.apple.app-migration"}},
        f"{extension}/Entitlements.plist": {
            "com.apple.developer.app-migration.data-container-access": [identifier], **groups},
    }
    for name, content in lists.items():
        with open(f"{path}/{name}", "wb") as file:
            plistlib.dump(content, file)
    subprocess.run(["chmod", "-R", "a+rX", path], check=True)
    return path
