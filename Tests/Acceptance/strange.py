"""Code that strange ends share. They follow the protocol: they time the answers to their PINGs, and
several act at once."""

import threading
import time

from devices import PATIENCE
from interop import interop
from outside import Failure, require, wait_for

if interop() is None:
    from stranger import ENDS


class Control(threading.Thread):
    """A control connection after READY: sends a PING every 0.2 s, answers the other end's, and
    keeps all other messages."""

    def __init__(self, stranger, pause=0):
        super().__init__(daemon=True)
        self.stranger, self.pause = stranger, pause
        self.heard, self.pings = [], []
        self.ended = None
        """How the connection ended."""
        self.is_over = False
        self.start()

    def run(self):
        try:
            while not self.is_over:
                if not self.pings or time.monotonic() - self.pings[-1][0] > 0.2:
                    self.pings.append((time.monotonic(), None))
                    self.say("PING", token=len(self.pings) - 1)
                said = self.stranger.read(0.05)
                if said:
                    self.take(said)
                    time.sleep(self.pause if said.name == "HELD" else 0)
        except ENDS as end:
            self.ended = str(end)

    def take(self, said):
        if said.name == "PING":
            self.say("PONG", token=said.token)
        elif said.name == "PONG":
            self.pings[said.token] = self.pings[said.token][0], time.monotonic()
        else:
            self.heard.append(said)

    def say(self, name, /, **values):
        self.stranger.say(name, **values)

    def hear(self, *names, seconds=PATIENCE):
        """The next message of several names; earlier ones count as heard."""
        def found():
            while self.heard:
                said = self.heard.pop(0)
                if said.name in names:
                    return said
                require(said.name != "CLOSE", f"the other end closes: {said}")
            require(self.ended is None, f"the connection ended: {self.ended}")
            return None

        return wait_for(" or ".join(names), seconds, found)

    def slowest(self, since):
        """The slowest answer to a PING of those sent since a moment; waits until one that is sent
        from now on is answered, and with it all earlier ones."""
        now = time.monotonic()

        def found():
            require(self.ended is None, f"the connection ended: {self.ended}")
            done = [ping for ping in self.pings if ping[0] >= since and ping[1]]
            return done if done and done[-1][0] >= now else None

        return max(answered - begun for begun, answered in wait_for("answer to a PING", PATIENCE, found))

    def stop(self):
        """Reads and says nothing more."""
        self.is_over = True
        self.join(5)

    def close(self):
        """Ends it properly."""
        self.stop()
        self.stranger.close()


class Together:
    """Does several things at once, each on its own thread; raises their errors, and has their
    results."""

    def __init__(self, actions, is_waiting=True):
        self.found, self.failures = {}, []
        self.threads = [threading.Thread(target=self.do, args=item, daemon=True) for item in actions.items()]
        for thread in self.threads:
            thread.start()
        if is_waiting:
            self.wait()

    def wait(self):
        for thread in self.threads:
            thread.join()
        require(not self.failures, "; ".join(self.failures))

    def do(self, name, action):
        try:
            self.found[name] = action()
        except Exception as failure:  # What one fails by must not hide the others.
            self.failures.append(f"{name}: {type(failure).__name__ + ': ' if not isinstance(failure, Failure) else ''}{failure}")
