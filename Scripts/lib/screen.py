"""What a terminal shows of what is written to it: lines of characters, each typed by its user or written by a program.

It knows what the command says to a terminal: the ends of lines, the start of the line, and that a line is erased. Whatever
else acts on a terminal is a failure, so that a picture never shows what no terminal would show.
"""

from outside import Failure

ESCAPE, ERASE = "\x1b", "\x1b[2K"


class Screen:
    """Lines that grow downwards; nothing scrolls away, and no line is folded."""

    def __init__(self):
        self.lines = [[]]
        """Of each line its characters, each with whether it was typed."""
        self.column = 0
        self.expected = []
        """What was typed and is not shown yet."""
        self.rest = ""

    def typed(self, text):
        """Notes what a user types; it is shown as typed when the terminal writes it."""
        self.expected += text

    def feed(self, text):
        """Shows what was written."""
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
        """Of each line its parts: text, and whether it was typed."""
        for line in self.lines:
            parts = []
            for character, is_typed in line:
                if parts and parts[-1][1] == is_typed:
                    parts[-1][0] += character
                else:
                    parts.append([character, is_typed])
            yield parts
