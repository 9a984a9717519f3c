"""Programs that need services of their own here: magic-wormhole its mailbox server, and syncthing
two that run until they are told to end. Nothing outside of loopback is asked for."""

import json
import os
import socket
import subprocess
import time
import urllib.request

from bench_contestants import Run, both, write
from bench_data import measure
from bench_place import LONGEST, Launched
from outside import require

CODE = "7-crossover-clockwork"


class Wormhole:
    """magic-wormhole. Its mailbox server counts for nobody, since it is elsewhere in life; the data
    takes a direct connection."""

    def __call__(self, place, source, destination):
        mailbox = Launched(
            place, ["twist3", "wormhole-mailbox", "--port=tcp:0:interface=127.0.0.1", "--channel-db=:memory:", "--usage-db=:memory:"])
        try:
            port = mailbox.says(r"starting on (\d+)")
            usual = ["wormhole", f"--relay-url=ws://127.0.0.1:{port}/v1", "--transit-helper=tcp:127.0.0.1:9"]
            # It packs folders into an archive first, and unpacks it at the end.
            inside = {"TMPDIR": place.path}
            receiver = Launched(place, [*usual, "receive", "--hide-progress", "--accept-file", CODE], cwd=destination, environment=inside)
            return both(Launched(place, [*usual, "send", "--hide-progress", "--code", CODE, source], environment=inside), receiver)
        finally:
            mailbox.end()


class Syncthing:
    """syncthing, whose two ends have known each other before; the end is when the receiver says that
    it has everything."""

    INTERVAL = 0.02
    KEY = "bench"

    def __call__(self, place, source, destination):
        below = f"{destination}/{os.path.basename(source)}"
        os.makedirs(f"{below}/.stfolder")
        ends = [self.prepare(place.fresh(f"syncthing-{name}")) for name in ("sender", "receiver")]
        # Every folder needs something by which syncthing sees that it is mounted.
        marker = min(os.listdir(source))
        for end, kind, folder, name in zip(ends, ("sendonly", "receiveonly"), (source, below), (marker, ".stfolder")):
            write(f"{end['home']}/config.xml", configuration(ends, end, kind, folder, name))
        receiver, sender = [self.start(place, end) for end in reversed(ends)]
        # The folder itself does not count.
        wanted = {"globalTotalItems": measure(source)[0] - 1, "needTotalItems": 0, "needBytes": 0, "state": "idle"}
        limit = time.monotonic() + LONGEST
        while not wanted.items() <= (status := self.ask(ends[1], "/rest/db/status?folder=bench")).items():
            require(not status["errors"] and time.monotonic() < limit, f"syncthing has not finished: {status}")
            time.sleep(self.INTERVAL)
        moment = time.monotonic()
        for end, process in zip(ends, (sender, receiver)):
            self.ask(end, "/rest/system/shutdown", b"")
            process.wait()
        os.rmdir(f"{below}/.stfolder")
        return Run(sender, receiver, end=moment)

    @staticmethod
    def prepare(home):
        """Keys of a device; its identifier, and ports for it."""
        for words in (["generate", f"--home={home}", "--no-default-folder"], ["-generate", home]):
            if subprocess.run(["syncthing", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                break
        identifier = subprocess.run(["syncthing", f"--home={home}", "--device-id"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
            ports = [listening.getsockname()[1] for listening in (one, two)]
        return {"home": home, "id": identifier, "port": ports[0], "control": ports[1]}

    def start(self, place, end):
        process = Launched(place, ["syncthing", "serve", f"--home={end['home']}", "--no-browser", "--no-restart", "--no-upgrade"],
                           environment={"HOME": end["home"]})
        process.says(r"(TCP listener .* starting)")
        process.says(r"(GUI and API listening on)")
        return process

    def ask(self, end, path, data=None):
        question = urllib.request.Request(f"http://127.0.0.1:{end['control']}{path}", data, {"X-API-Key": self.KEY})
        with urllib.request.urlopen(question, timeout=30) as answer:
            return json.load(answer)


def configuration(ends, own, kind, folder, marker):
    devices = "".join(
        f'<device id="{end["id"]}" name="{number}"><address>tcp://127.0.0.1:{end["port"]}</address></device>' for number, end in enumerate(ends))
    return (
        f'<configuration version="35"><folder id="bench" label="bench" path="{folder}" type="{kind}" rescanIntervalS="0" '
        'fsWatcherEnabled="false" autoNormalize="false">'
        + "".join(f'<device id="{end["id"]}"></device>' for end in ends) + f"<markerName>{marker}</markerName></folder>{devices}"
        f'<gui enabled="true" tls="false"><address>127.0.0.1:{own["control"]}</address><apikey>{Syncthing.KEY}</apikey></gui>'
        f'<options><listenAddress>tcp://127.0.0.1:{own["port"]}</listenAddress><globalAnnounceEnabled>false</globalAnnounceEnabled>'
        "<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>"
        "<startBrowser>false</startBrowser><urAccepted>-1</urAccepted><crashReportingEnabled>false</crashReportingEnabled>"
        "<autoUpgradeIntervalH>0</autoUpgradeIntervalH></options></configuration>")
