"""The page of benchmarks, written from the figures that experiments keep as JSON: `python -m docs._benchmarks`.

An experiment writes its figures by `--json docs/benchmarks/NAME.json`. A race is the time of some work by catad over the time of
the same work by something else. The page begins with what is slower than the others, then has one section an experiment.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "benchmarks"
PAGE = FOLDER.parent / "benchmarks.md"
ORDER = ("engines", "loops", "dace_ad", "jacobians", "planning", "hm_lstm", "linear_algebra", "equations", "kernels", "chunks")
NOISE = 1.05  # ratios up to here are called equal: medians of two runs differ by this much
LEFT, WIDTH, ROW = 390, 920, 20  # of the pictures, in pixels: where bars begin, in all, the height of a row
HEAD = """# Benchmarks

These tables show how long catad takes beside other libraries, and beside other ways to compute the same. Each ratio is the time
of catad over the time of the other: 0.50 is half the time, 2.00 is twice the time. An experiment warms up both, runs them in turn
in one process, and compares medians. Programs of NPBench run with `ct.use_engine("cpu")`, so that they are compiled before their
first call: by default array code serves the first calls, while another thread compiles. The section of a table names its
experiment, the machine and the versions. Ratios on another machine differ; run the experiment there. The [glossary](glossary.md)
explains the words.

The page is written from the files in `docs/benchmarks/`, which the experiments write:

```bash
python examples/experiments/engines.py --json docs/benchmarks/engines.json
python -m docs._benchmarks
```
"""
CLAIM = """
### What DaCe AD's authors measured

Boudaoud, Calotoiu, Copik and Hoefler ([arXiv 2509.02197](https://arxiv.org/abs/2509.02197)) report that DaCe AD is more than
92 times as fast as JAX on average over their versions of NPBench's programs. The table above does not repeat their measurement:
here both libraries get NumPy's text, and run it on one thread. A program is missing where DaCe AD did not compile it, took too
long, or had another gradient.
"""


class Race(NamedTuple):
    """A row of a table."""

    work: str
    against: str
    ratio: float
    note: str


def races(record: dict[str, Any]) -> list[Race]:
    """The races of an experiment, the slowest first."""
    return sorted([Race(**race) for race in record["races"]], key=lambda race: -race.ratio)


def records() -> list[dict[str, Any]]:
    """What is in the folder, in the order of the page."""
    found = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*.json")}
    unknown = sorted(set(found) - set(ORDER))
    return [found[name] for name in (*ORDER, *unknown) if name in found]


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows: Iterable[Race]) -> list[str]:
    """Rows in Markdown."""
    rows = list(rows)
    notes = any(race.note for race in rows)
    lines = ["| work | against | ratio |", "|---|---|---:|"]
    if notes:
        lines = ["| work | against | ratio | note |", "|---|---|---:|---|"]
    for race in rows:
        work, against, note = [cell.replace("|", "\\|") for cell in (race.work, race.against, race.note)]
        lines.append(f"| {work} | {against} | {number(race.ratio)} |" + (f" {note} |" if notes else ""))
    return lines


def number(ratio: float) -> str:
    """A ratio with two digits behind the point, a small one with two digits."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:#.2g}"


def where(record: dict[str, Any]) -> str:
    """The machine and the versions in one sentence."""
    machine = record["machine"]
    versions = {"Python": machine["python"], "NumPy": machine["numpy"], "catad": machine["catad"], **record["versions"]}
    named = ", ".join([f"{name} {version}" for name, version in versions.items()])
    cores = f"{machine['cores']} cores, of which catad used {machine['threads']}"
    return f"Measured on {record['date']}: {machine['processor']}, {cores}, load {machine['load']}; {named}."


def section(record: dict[str, Any]) -> list[str]:
    """An experiment: what it compares, its summary, a picture, and the table."""
    name, rows = record["experiment"], races(record)
    command = " ".join(["python", f"examples/experiments/{name}.py", *[f"'{w}'" if " " in w else w for w in record["options"]]])
    lines = [f"## {title(name)}", "", record["about"], "", where(record), "", "```bash", command, "```", ""]
    for against in sorted({race.against.partition(",")[0] for race in rows}):
        own = [race.ratio for race in rows if race.against.partition(",")[0] == against]
        count = {word: sum(kind(ratio) == word for ratio in own) for word in ("faster", "slower", "equal")}
        kinds = ", ".join([f"{many} {word}" for word, many in count.items()])
        rows_of = f"{len(own)} row{'s' if len(own) > 1 else ''}"
        lines.append(f"- Against {against}: {rows_of}, geometric mean {number(mean(own))}; {kinds}.")
    alone = [row for row in record.get("rows", []) if isinstance(row, dict) and row.get("refused")]
    if alone:
        lines.append("- Without a figure: " + "; ".join([f"{row['program']} ({row['refused']})" for row in alone]) + ".")
    picture = f"benchmarks/{name}.svg"
    lines += ["", f"![{title(name)}: bars of the ratios of the table below, on a logarithmic scale]({picture})", ""]
    return [*lines, *table(rows), *(CLAIM.splitlines() if name == "dace_ad" else []), ""]


def title(name: str) -> str:
    """The name of an experiment for people."""
    known = {"hm_lstm": "HM-LSTM", "dace_ad": "DaCe AD", "engines": "Programs of NumPy", "planning": "Planning"}
    return known.get(name, name.replace("_", " ").capitalize())


STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.line { stroke: #57606a } .faster { fill: #1a7f37 } .slower { fill: #bc4c00 } .equal { fill: #6e7781 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .line { stroke: #8d96a0 } .faster { fill: #3fb950 } .slower { fill: #db6d28 } .equal { fill: #8d96a0 } }
</style>"""


def kind(ratio: float) -> str:
    return "faster" if ratio < 1 / NOISE else "slower" if ratio > NOISE else "equal"


def picture(rows: Sequence[Race]) -> str:
    """Bars from 1 to each ratio on a logarithmic scale, to the left where catad is faster."""
    logs = [math.log10(race.ratio) for race in rows]
    least, most = min([*logs, -0.35]), max([*logs, 0.35])

    def across(log: float) -> float:
        return LEFT + (WIDTH - LEFT - 70) * (log - least) / (most - least)

    high = ROW * len(rows) + 46
    size = f'viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" style="max-width: 100%" role="img"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', STYLE]
    for tick in range(math.ceil(least), math.floor(most) + 1):
        x = across(tick)
        dashes = "" if tick == 0 else ' stroke-dasharray="2 4"'
        out.append(f'<line class="line" x1="{x:.1f}" y1="24" x2="{x:.1f}" y2="{high - 18}"{dashes}/>')
        out.append(f'<text x="{x:.1f}" y="{high - 4}" text-anchor="middle">{10.0**tick:g}</text>')
    out.append(f'<text x="{across(0.0):.1f}" y="14" text-anchor="middle">&#8592; catad faster | catad slower &#8594;</text>')
    for k, (race, log) in enumerate(zip(rows, logs, strict=True)):
        y, one, end = 26 + ROW * k, across(0.0), across(log)
        name = race.work if len(race.work) <= 52 else race.work[:51] + "\N{HORIZONTAL ELLIPSIS}"
        full = html.escape(f"{race.work}, against {race.against}: {number(race.ratio)}")
        out.append(f'<g><title>{full}</title><text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        left, width = min(one, end), max(abs(end - one), 1.0)
        out.append(f'<rect class="{kind(race.ratio)}" x="{left:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 7}"/>')
        out.append(f'<text x="{max(one, end) + 5:.1f}" y="{y + 13}">{number(race.ratio)}</text></g>')
    return "\n".join([*out, "</svg>", ""])


def page(found: Sequence[dict[str, Any]]) -> str:
    """The whole page."""
    slower = [(title(record["experiment"]), race) for record in found for race in races(record) if race.ratio > NOISE]
    lines = [HEAD, "## Where catad is slower", ""]
    every = sum(len(record["races"]) for record in found)
    lines += [f"{len(slower)} of {every} rows are slower by more than 5 %, the slowest first.", ""]
    lines += table([race._replace(work=f"{name}: {race.work}") for name, race in sorted(slower, key=lambda one: -one[1].ratio)])
    for record in found:
        lines += ["", *section(record)]
    return "\n".join(lines).rstrip() + "\n"


def files() -> dict[Path, str]:
    """The page and its pictures."""
    found = records()
    pictures = {FOLDER / f"{record['experiment']}.svg": picture(races(record)) for record in found}
    return {PAGE: page(found), **pictures}


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
        print(file)
