"""The screen of a terminal after output: lines of characters, each typed by its user or written by
a program.

It knows the command's control sequences: the ends of lines, the start of the line, and erasing a
line. Every other control sequence is a failure, so that a picture shows only what a terminal would
show.
"""

from outside import Failure

ESCAPE, ERASE = "\x1b", "\x1b[2K"


class Screen:
    """Lines that grow downwards; nothing scrolls away, and no line is folded."""

    def __init__(self):
        self.lines = [[]]
        """The characters of each line, each with whether it was typed."""
        self.column = 0
        self.expected = []
        """The typed characters that are not shown yet."""
        self.rest = ""

    def typed(self, text):
        """Records what a user types; it is shown as typed when the terminal writes it."""
        self.expected += text

    def feed(self, text):
        """Shows written text."""
        text = self.rest + text
        self.rest = ""
        while text:
            if text[0] == ESCAPE:
                if len(text) < len(ERASE) and ERASE.startswith(text):
                    self.rest = text
                    return
                if not text.startswith(ERASE):
                    raise Failure(f"the picture knows nothing of {text[:12]!r}")
                self.lines[-1], text = [], text[len(ERASE):]
                continue
            self.show(text[0])
            text = text[1:]

    def show(self, character):
        if character == "\n":
            self.lines.append([])
        elif character == "\r":
            self.column = 0
        elif not character.isprintable():
            raise Failure(f"the picture knows nothing of {character!r}")
        else:
            is_typed = self.expected[:1] == [character]
            if is_typed:
                self.expected.pop(0)
            line = self.lines[-1]
            line += [(" ", False)] * (self.column - len(line))
            line[self.column:self.column + 1] = [(character, is_typed)]
            self.column += 1

    def text(self):
        """The lines as text."""
        return ["".join(character for character, _ in line) for line in self.lines]

    def runs(self):
        """The parts of each line: text, and whether it was typed."""
        for line in self.lines:
            parts = []
            for character, is_typed in line:
                if parts and parts[-1][1] == is_typed:
                    parts[-1][0] += character
                else:
                    parts.append([character, is_typed])
            yield parts
