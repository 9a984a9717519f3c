"""The times of a bench as a drawing: bars in SVG, readable on light and on dark pages."""

from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 760, 150, 90
BAR, STEP, TITLE, GAP = 16, 23, 30, 14

STORAGE = {"memory": "in memory", "disk": "on a disk, with a final sync"}

STYLE = """
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .quiet { fill: #59636e; }
    .peer { fill: #1a7f5a; }
    .other { fill: #afb8c1; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .quiet { fill: #9198a1; }
      .peer { fill: #3fb68b; }
      .other { fill: #57606a; }
    }
"""


def chart(document):
    """One group of bars for each work that has several; the longest of a group has the full width."""
    lines, top = [], 8
    for work in comparisons(document):
        top += TITLE
        lines.append(text(0, top - 10, heading(work), "title"))
        longest = max(one["seconds"] for one in work["contestants"])
        for one in work["contestants"]:
            width = max(2.0, one["seconds"] / longest * (WIDTH - LEFT - RIGHT))
            kind = "peer" if one["name"].startswith("peer") else "other"
            lines.append(text(LEFT - 10, top + BAR - 3, one["name"], anchor="end"))
            lines.append(f'  <rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
            lines.append(text(LEFT + width + 8, top + BAR - 3, f'{one["seconds"]:.2f} s'))
            top += STEP
        top += GAP
    lines.append(text(0, top + 6, footer(document), "quiet"))
    height = top + 18
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"  <title>{escape(summary(document))}</title>", f"  <style>{STYLE}  </style>", *lines, "</svg>"]) + "\n"


def comparisons(document):
    return [work for work in document["works"] if len(work["contestants"]) > 1]


def text(left, top, words, kind="", anchor=""):
    shape = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'  <text x="{left:.0f}" y="{top:.0f}"{shape}>{escape(words)}</text>'


def heading(work):
    first = work["contestants"][0]
    count, size = first["items"], first["bytes"]
    amount = f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    return f'{work["title"][0].upper()}{work["title"][1:]}: {amount}' + (f" in {count:,} items" if count > 9 else "")


def footer(document):
    machine, runs = document["machine"], document["works"][0]["contestants"][0]["runs"]
    return (
        f'Seconds, shorter is better. Medians of {runs}, loopback, {STORAGE[document["storage"]]}; '
        f'{machine["processors"]} × {machine["processor"]}.')


def summary(document):
    """What somebody hears who cannot see the bars."""
    return ". ".join(
        f'{heading(work)}: ' + ", ".join(f'{one["name"]} {one["seconds"]:.2f} s' for one in work["contestants"])
        for work in comparisons(document))
