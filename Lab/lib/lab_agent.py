"""Runs in the machine of Lab/files: takes commands from outside through a virtio port, a JSON
object a line, and answers.

It receives {"do": "run", "id", "words", "text", "environment"}, {"do": "signal", "id", "number"}
and {"do": "off"}. It sends {"ready": true} at first, {"id", "line"} for each line that a command
writes, and {"id", "status", "errors"} at its end.
"""

import ctypes
import glob
import json
import os
import subprocess
import sys
import threading
import time

POWER_OFF = 0x4321FEDC


class Agent:
    """The one port, and the commands that run."""

    def __init__(self, path):
        self.port = os.open(path, os.O_RDWR)
        self.lock = threading.Lock()
        self.running = {}

    def say(self, **words):
        left = json.dumps(words).encode() + b"\n"
        with self.lock:
            while left:
                left = left[os.write(self.port, left):]

    def lines(self):
        """The lines that come from outside; the port reads as ended while it is closed there."""
        rest = b""
        while True:
            part = os.read(self.port, 65536)
            if not part:
                time.sleep(0.05)
            *whole, rest = (rest + part).split(b"\n")
            yield from whole

    def serve(self):
        self.say(ready=True)
        for line in self.lines():
            order = json.loads(line)
            if order["do"] == "run":
                threading.Thread(target=self.run, args=(order,), daemon=True).start()
            elif order["do"] == "signal":
                process = self.running.get(order["id"])
                if process is not None and process.poll() is None:
                    process.send_signal(order["number"])
            else:
                return

    def run(self, order):
        number = order["id"]
        try:
            process = subprocess.Popen(
                order["words"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                env={**os.environ, **order.get("environment", {})})
        except OSError as error:
            self.say(id=number, status=127, errors=str(error))
            return
        self.running[number] = process
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
        reader.start()
        try:
            process.stdin.write(order.get("text", "").encode())
            process.stdin.close()
        except BrokenPipeError:
            # The command does not read its input.
            pass
        for line in process.stdout:
            self.say(id=number, line=line.decode(errors="surrogateescape").rstrip("\n"))
        code = process.wait()
        # A server that it left behind may keep the pipe open.
        reader.join(1)
        text = b"".join(errors).decode(errors="replace")
        self.say(id=number, status=code if code >= 0 else 128 - code, errors=text[-4000:])


def main():
    while not (ports := glob.glob("/dev/vport*")):
        time.sleep(0.05)
    try:
        Agent(sorted(ports)[0]).serve()
    finally:
        sys.stdout.flush()
        os.sync()
        ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
