"""The times of a bench as a drawing: bars in SVG, readable on light and on dark pages."""

import os
import platform
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 760, 150, 90
BAR, STEP, TITLE, GAP = 16, 23, 30, 14

STYLE = """
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .peer { fill: #2a9d71; }
    .other { fill: #8c959f; }
    @media (prefers-color-scheme: dark) { text { fill: #f0f6fc; } }
"""


def chart(works, where):
    """One group of bars for each work; the longest of a group has the full width."""
    lines, top = [], 8
    for work in works:
        top += TITLE
        lines.append(text(0, top - 10, heading(work), ' class="title"'))
        longest = max(one["seconds"] for one in work["contestants"])
        for one in work["contestants"]:
            width = max(2.0, one["seconds"] / longest * (WIDTH - LEFT - RIGHT))
            kind = "peer" if one["name"].startswith("peer") else "other"
            lines.append(text(LEFT - 10, top + BAR - 3, one["name"], ' text-anchor="end"'))
            lines.append(f'  <rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
            lines.append(text(LEFT + width + 8, top + BAR - 3, f'{one["seconds"]:.2f} s'))
            top += STEP
        top += GAP
    if any(one["name"] == "floor" for work in works for one in work["contestants"]):
        lines.append(text(0, top + 6, "The floor is a bare copy, with only the work that each of them has: no pairing, no resuming, no links."))
        top += 18
    lines.append(text(0, top + 6, (
        f'Seconds, shorter is better. Medians of {works[0]["contestants"][0]["runs"]}, loopback, {where}; '
        f"{os.cpu_count()} × {processor()}.")))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 18}" width="{WIDTH}" height="{top + 18}" role="img">',
        f"  <style>{STYLE}  </style>", *lines, "</svg>"]) + "\n"


def text(left, top, words, attributes=""):
    return f'  <text x="{left:.0f}" y="{top:.0f}"{attributes}>{escape(words)}</text>'


def heading(work):
    first = work["contestants"][0]
    count, size = first["items"], first["bytes"]
    amount = f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    return f'{work["title"][0].upper()}{work["title"][1:]}: {amount}' + (f" in {count:,} items" if count > 9 else "")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()
