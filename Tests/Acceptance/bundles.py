"""The bundles of the app that is migrated and of its clip, for the checks and for benchmarks."""

import os
import plistlib
import shutil
import subprocess

ID = "org.example.test"
GROUP = "group.org.example.test"


PARENT = "com.apple.developer.parent-application-identifiers"
CLIP = "com.apple.developer.associated-appclip-app-identifiers"


def make_bundle(
        programs, path, identifier, program="TestAppExtension", info=None, entitlements=None, groups=(GROUP,),
        has_extension=True):
    """Makes a bundle from the folder of the programs. The name of the extension's program decides
    what the extension is."""
    os.makedirs(path)
    shutil.copy(f"{programs}/TestApp", path)
    listed = {"com.apple.security.application-groups": list(groups)}
    lists = {
        "Info.plist": {
            "CFBundleIdentifier": identifier, "CFBundleShortVersionString": "1.0", "CFBundleExecutable": "TestApp",
            **(info or {})},
        "Entitlements.plist": {**listed, **(entitlements or {})},
    }
    if has_extension:
        extension = "Extensions/Migration.appex"
        os.makedirs(f"{path}/{extension}")
        shutil.copy(f"{programs}/TestAppExtension", f"{path}/{extension}/{program}")
        lists[f"{extension}/Info.plist"] = {
            "CFBundleIdentifier": f"{identifier}.migration", "CFBundleExecutable": program,
            "EXAppExtensionAttributes": {"EXExtensionPointIdentifier": "com.apple.app-migration"}}
        lists[f"{extension}/Entitlements.plist"] = {
            "com.apple.developer.app-migration.data-container-access": [identifier], **listed}
    for name, content in lists.items():
        with open(f"{path}/{name}", "wb") as file:
            plistlib.dump(content, file)
    subprocess.run(["chmod", "-R", "a+rX", path], check=True)
    return path


def make_clip(programs, path, identifier=f"{ID}.clip", app=ID, **more):
    """The bundle of an app's clip."""
    return make_bundle(programs, path, identifier, entitlements={PARENT: [app]}, has_extension=False, **more)


def make_full_app(programs, path, identifier=ID, clip=f"{ID}.clip", **more):
    """The bundle of the app that names a clip."""
    return make_bundle(programs, path, identifier, entitlements={CLIP: [clip]}, **more)
