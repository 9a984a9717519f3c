"""Terminals as a drawing: a window for each, one above the other, in self-contained SVG; readable
on light and on dark pages."""

from xml.sax.saxutils import escape

FONT, ADVANCE, LEADING = 13, 7.83, 20
MARGIN, BAR, GAP = 16, 32, 18

STYLE = """
    .window { fill: #f6f8fa; stroke: #d1d9e0; }
    .bar { stroke: #d1d9e0; }
    .dot { fill: #c8d1da; }
    .name { font: 600 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e; text-anchor: middle; }
    .line { font: 13px ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre; }
    .typed { fill: #0969da; font-weight: 600; }
    @media (prefers-color-scheme: dark) {
      .window { fill: #151b23; stroke: #3d444d; }
      .bar { stroke: #3d444d; }
      .dot { fill: #3d444d; }
      .name { fill: #9198a1; }
      .line { fill: #f0f6fc; }
      .typed { fill: #4493f8; }
    }
"""


def drawing(title, description, windows):
    """Windows as pairs of a name and a Screen's runs."""
    windows = [(name, list(runs)) for name, runs in windows]
    columns = max(sum(len(text) for text, _ in line) for _, lines in windows for line in lines)
    width = round(2 * MARGIN + columns * ADVANCE)
    parts, top = [], 1
    for name, lines in windows:
        height = BAR + 2 * MARGIN - 6 + len(lines) * LEADING
        parts += window(name, lines, top, width, height)
        top += height + GAP
    height = top - GAP + 1
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2} {height}" width="{width + 2}" height="{height}" role="img" '
        'aria-labelledby="title desc">',
        f'  <title id="title">{escape(title)}</title>', f'  <desc id="desc">{escape(description)}</desc>',
        f"  <style>{STYLE}  </style>", *parts, "</svg>"]) + "\n"


def window(name, lines, top, width, height):
    yield f'  <rect class="window" x="1" y="{top}" width="{width}" height="{height}" rx="8"/>'
    yield f'  <line class="bar" x1="1" y1="{top + BAR}" x2="{width + 1}" y2="{top + BAR}"/>'
    for number in range(3):
        yield f'  <circle class="dot" cx="{MARGIN + 4 + 18 * number}" cy="{top + BAR // 2}" r="5"/>'
    yield f'  <text class="name" x="{width // 2}" y="{top + BAR // 2 + 4}">{escape(name)}</text>'
    for number, line in enumerate(lines):
        if line:
            words = "".join(f'<tspan class="typed">{escape(text)}</tspan>' if is_typed else escape(text) for text, is_typed in line)
            base = top + BAR + MARGIN + 10 + number * LEADING
            yield f'  <text class="line" x="{MARGIN + 1}" y="{base}" xml:space="preserve">{words}</text>'
