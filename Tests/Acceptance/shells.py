"""Shells in which a command line of `peer` is typed and completed."""

import contextlib
import os
import shlex
import subprocess

from devices import PATIENCE
from outside import wait_for
from terminal import Terminal

# The start of each shell at a terminal: Ctrl-G writes the line that is being typed to a file.
BEGINNINGS = {
    "bash": """
        cd "$FOLDER" && PS1='$ '
        {load}
        write_line() {{ printf '%s\\n' "$READLINE_LINE" > "$LINE"; }}
        bind 'set bell-style none' && bind 'set completion-query-items 0' && bind 'set page-completions off'
        bind -x '"\\C-g": write_line'
        printf 'rea%s\\n' dy
        """,
    "zsh": """
        cd "$FOLDER" && PS1='$ '
        autoload -U compinit
        {load}
        write_line() {{ print -r -- "$BUFFER" > "$LINE" }}
        zle -N write_line && bindkey '^G' write_line
        printf 'rea%s\\n' dy
        """,
}
# How each shell reads the completions at its start.
LOADS = {"bash": "source <(peer completion bash)", "zsh": "compinit -u -D; source <(peer completion zsh)"}


class TypedShell:
    """bash or zsh at a terminal of its own, in a folder, with the completions."""

    def __init__(self, work, name, folder, home, load=None, within=()):
        self.line = f"{home}/line"
        start = f"{home}/.{name}rc"
        with open(start, "w", encoding="utf-8") as file:
            file.write(BEGINNINGS[name].format(load=load or LOADS[name]))
        variables = {
            "PATH": f"{work.programs}:{os.environ['PATH']}", "HOME": home, "PEER_HOME": f"{home}/peer", "ZDOTDIR": home, "TERM": "vt100",
            "FOLDER": folder, "LINE": self.line, "INPUTRC": "/dev/null"}
        words = {"bash": ["bash", "--noprofile", "--rcfile", start, "-i"], "zsh": ["zsh", "-d", "-i"]}[name]
        self.terminal = Terminal(work, [f"{name}={value}" for name, value in variables.items()] + [*within, *words], program="/usr/bin/env")
        self.terminal.wait_for(rb"ready\r\n")

    def complete(self, line, tabs=1):
        """The line after Tab is pressed, and the output meanwhile."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.line)
        begin = len(self.terminal.read)
        os.write(self.terminal.descriptor, line.encode() + b"\t" * tabs + b"\x07")

        def found():
            self.terminal.pump()
            with contextlib.suppress(FileNotFoundError), open(self.line, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
                return text[:-1] if text.endswith("\n") else None
            return None

        text = wait_for(f"completion of {line!r} after {self.terminal.read[-300:]!r}", PATIENCE, found)
        # Deletes the whole line, at any position of the cursor.
        os.write(self.terminal.descriptor, b"\x05\x15")
        return text, self.terminal.read[begin:].decode("utf-8", "replace")

    def last_word(self, line):
        """The word that a completion ends with, as the command would get it."""
        return shlex.split(self.complete(line)[0])[-1]


class Fish:
    """fish, which itself reports how a line can be completed."""

    def __init__(self, work, folder, home, within=()):
        self.folder, self.within = folder, within
        self.environment = {
            **os.environ, "PATH": f"{work.programs}:{os.environ['PATH']}", "HOME": home, "PEER_HOME": f"{home}/peer", "LC_ALL": "C.UTF-8"}

    def offers(self, line, load="peer completion fish | source"):
        """The offered completions of the last word, each with its description."""
        script = f"{load}; complete -C $argv[1]"
        found = subprocess.run(
            [*self.within, "fish", "--no-config", "-c", script, line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            check=True, timeout=PATIENCE)
        rows = [row.split("\t") for row in found.stdout.decode("utf-8", "surrogateescape").splitlines()]
        return {row[0]: row[1] if len(row) > 1 else "" for row in rows}
