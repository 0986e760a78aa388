"""The report: one HTML page that needs nothing else, from collected results.

It has each figure of ours, the paper's claims about it with what decides them, the numbers, the
hyperparameters, and where it all ran. It has no script and makes no request: it can be mailed, and
read on a phone.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rillax import agents
from rillax.experiments import Run, Timing
from rillax.experiments.training import shown
from rillax.paper import drawing, figures
from rillax.paper.claims import Verdict
from rillax.paper.collect import summary
from rillax.paper.figure import Figure, Results
from rillax.utils import settings

SIGNS = {"pass": "✓", "fail": "✗", "not yet run": "○"}
NARROW = 2
"""Columns of panels on a phone."""


def page(everything: Mapping[str, Results]) -> str:
    """The whole report as HTML."""
    verdicts = figures.verdicts(everything)
    manifest = next((r.manifest for r in everything.values()), None)
    preset = manifest["preset"] if manifest else "paper"
    whole = figures.figures(preset)
    sections = [
        _section(figure, everything[name], [v for v in verdicts if v.figure == name])
        for name, figure in whole.items()
        if name in everything
    ]
    sections.append(_not_yet_run([f for name, f in whole.items() if name not in everything]))
    return _PAGE.format(
        style=_STYLE,
        overview=_overview(verdicts),
        contents="".join(
            f'<li><a href="#{n}">{_text(f.number)}: {_text(f.title)}</a></li>'
            for n, f in whole.items()
        ),
        sections="\n".join(sections),
        differences=_differences(preset),
        origin=_origin(everything),
    )


def _text(value: Any) -> str:
    return html.escape(str(value))


def _overview(verdicts: Iterable[Verdict]) -> str:
    outcomes: list[str] = [verdict.outcome for verdict in verdicts]
    counts = (
        f"<li>{_badge(outcome)} <b>{outcomes.count(outcome)}</b> of {len(outcomes)}</li>"
        for outcome in SIGNS
    )
    return f'<ul class="counts" aria-label="Claims">{"".join(counts)}</ul>'


def _badge(outcome: str) -> str:
    kind = outcome.split()[0]
    sign = f'<span aria-hidden="true">{SIGNS[outcome]}</span>'
    return f'<span class="badge {kind}">{sign} {outcome}</span>'


def _section(figure: Figure, results: Results, verdicts: list[Verdict]) -> str:
    heading = f"<h2>{_text(figure.number)}: {_text(figure.title)}</h2>"
    judged = "".join(_verdict(verdict) for verdict in verdicts)
    parts = [heading, _picture(figure, results), f'<ul class="claims">{judged}</ul>']
    parts += [_numbers(results), _hyperparameters(results)]
    return f'<section id="{figure.name}">{"".join(parts)}</section>'


def _not_yet_run(missing: list[Figure]) -> str:
    """One line for each figure that has no results."""
    if not missing:
        return ""
    lines = "".join(
        f'<li id="{f.name}">{_text(f.number)}: {_text(f.title)}: '
        f"<code>rillax reproduce {_text(f.name)}</code></li>"
        for f in missing
    )
    return f'<section id="missing"><h2>Not yet run</h2><ul>{lines}</ul></section>'


def _verdict(verdict: Verdict) -> str:
    return (
        f"<li>{_badge(verdict.outcome)}<p>{_text(verdict.claim.text)}</p>"
        f'<p class="number">{_text(verdict.number)}</p>'
        f'<p class="rule">Holds if: {_text(verdict.claim.rule)}.</p></li>'
    )


def _picture(figure: Figure, results: Results) -> str:
    wide = _embed(drawing.as_bytes(results, "svg"))
    narrow = _embed(drawing.as_bytes(results, "svg", NARROW))
    caption = f"{figure.caption or _seeds(results)} {_extent(figure, results)}"
    return (
        "<figure><picture>"
        f'<source media="(max-width: 700px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{_text(_alt(figure, results))}">'
        f"</picture><figcaption>{_text(caption)}</figcaption></figure>"
    )


def _embed(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _seeds(results: Results) -> str:
    """What the lines are, and over how many seeds."""
    seeds = sorted({done.job.work.seeds for done in results.jobs.values()})
    if max(seeds) == 1:
        return "One seed."
    return f"IQM over {' or '.join(map(str, seeds))} seeds, with shaded standard error."


def _extent(figure: Figure, results: Results) -> str:
    """How much of the paper's figure this is."""
    whole = {job.name: job for job in figure.jobs}
    notes = []
    if len(results.jobs) < len(whole):
        notes.append(f"this shows {len(results.jobs)} of {len(whole)} jobs")
    frames = {d.job.work.frames for n, d in results.jobs.items() if n in whole}
    wanted = {job.work.frames for job in whole.values()}
    if frames != wanted:
        most = max(frames, default=0)
        notes.append(f"run for {most:,} frames, where the paper has {max(wanted):,}")
    if lost := sum(done.diverged for done in results.jobs.values()):
        notes.append(
            "1 seed diverged and is left out"
            if lost == 1
            else f"{lost} seeds diverged and are left out"
        )
    return f"{'; '.join(notes).capitalize()}." if notes else ""


def _alt(figure: Figure, results: Results) -> str:
    """The figure for someone who cannot see it: every value of each line."""
    lines: dict[str, list[str]] = {}
    for row in summary(results):
        where, value = figure.quantity.point(row)
        lines.setdefault(row["label"], []).append(f"{shown(value)} at {where}")
    told = ". ".join(f"{label}: {', '.join(values)}" for label, values in lines.items())
    return f"{figure.title}. {told}."


def _numbers(results: Results) -> str:
    quantity = results.figure.quantity
    body = [quantity.told(row) for row in summary(results)]
    return f"<details><summary>Numbers</summary>{_table(quantity.head, body)}</details>"


def _hyperparameters(results: Results) -> str:
    """The settings of the jobs as they were run; of those with the same source, the first's."""
    sources: dict[str, Run | Timing] = {}
    for done in results.jobs.values():
        work = done.job.work
        what = agents.name_of(work.agent) if isinstance(work, Run) else "network"
        sources.setdefault(f"{what}: {done.job.source}", work)
    tables = (
        f"<h3>{_text(source)}</h3>{_table(('setting', 'value'), _settings(work))}"
        for source, work in sources.items()
    )
    return f"<details><summary>Hyperparameters</summary>{''.join(tables)}</details>"


def _settings(work: Run | Timing) -> list[tuple[str, Any]]:
    """The kind of each part, then every setting by its flat name, then how much was run."""
    agent: Any = work.agent if isinstance(work, Run) else work.network
    network = agent.network if isinstance(work, Run) else agent
    rows = [("cell", ", ".join(type(layer).__name__ for layer in network.layers))]
    rows += [(name, type(part).__name__) for name, part in settings.parts(agent).items()]
    rows += [(name, _value(leaf.value)) for name, leaf in settings.flat(agent).items()]
    if isinstance(work, Timing):
        return [*rows, ("widths", _value(work.widths)), ("repeats", _value(work.repeats))]
    return [*rows, ("frames", _value(work.frames)), ("seeds", _value(work.seeds))]


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and value > 9999 else str(value)


def _table(head: Sequence[str], body: Iterable[Iterable[Any]]) -> str:
    """A table that scrolls inside its own box where it is wider than the screen."""
    rows_of_text = [[str(value) for value in row] for row in body]
    columns = zip(*rows_of_text, strict=True)
    kinds = [' class="right"' if all(map(_is_number, c)) else "" for c in columns]
    kinds = kinds or [""] * len(head)
    heads = zip(head, kinds, strict=True)
    top = "".join(f'<th scope="col"{kind}>{_text(name)}</th>' for name, kind in heads)
    cells = (
        [f"<td{k}>{_text(v)}</td>" for v, k in zip(row, kinds, strict=True)] for row in rows_of_text
    )
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table">{table}</div>'


def _is_number(text: str) -> bool:
    """Whether a cell holds a number, or a dash for want of one."""
    return re.fullmatch(r"-|[-+]?[\d,]*\.?\d+(e[-+]?\d+)?( %)?", text) is not None


def _differences(preset: str) -> str:
    """Where the preset departs from the paper, and why."""
    if preset == "paper":
        return "<p>Every number is the paper's, where it gives one.</p>"
    overrides = (override for figure in figures.FIGURES for override in figure.overrides)
    rows = [(o.jobs, json.dumps(dict(o.settings)), o.reason) for o in overrides]
    return _table(("jobs", "instead of the paper's", "why"), rows)


def _origin(everything: Mapping[str, Results]) -> str:
    """What each figure was run with, and on which machine."""
    if not everything:
        return "<p>Nothing has been run yet.</p>"
    runs: dict[str, list[Results]] = {}
    for results in everything.values():
        runs.setdefault(json.dumps(results.manifest), []).append(results)
    return "".join(map(_origin_of, runs.values()))


def _origin_of(drawn: list[Results]) -> str:
    """Where some figures ran that come from the same directory."""
    manifest = drawn[0].manifest
    rows: list[tuple[str, Any]] = [("rillax", manifest["rillax"]), ("preset", manifest["preset"])]
    rows += [("commit", commit) for commit in manifest["commits"]]
    for machine in manifest["machines"]:
        rows.append(("machine", f"{machine['processor']}, {machine['cores']} cores"))
        rows.append(("system", machine["platform"]))
        rows.append(("Python, JAX", f"{machine['python']}, {machine['jax']}"))
    rows.append(("started", manifest["started"]))
    # Two figures may be drawn from the same jobs.
    jobs = {name: done for results in drawn for name, done in results.jobs.items()}
    seconds = sum(done.outcome.get("seconds", 0.0) for done in jobs.values())
    rows.append(("core hours", f"{seconds / 3600:.3g}"))
    hosts = sorted({done.outcome["host"] for done in jobs.values() if "host" in done.outcome})
    if len(hosts) > 1:
        rows.append(("hosts", ", ".join(hosts)))
    names = ", ".join(results.figure.number for results in drawn)
    items = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in rows)
    return f"<h3>{_text(names)}</h3><dl>{items}</dl>"


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff;
  --card: #f5f7f9; --line: #d5dbe1; --link: #0a5a94;
  --pass: #116329; --pass-bg: #dcf5e3; --fail: #a01c1c; --fail-bg: #fde4e1;
  --not: #4a5560; --not-bg: #e6eaee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a4adb7; --paper: #14181c;
  --card: #1c2228; --line: #343d46; --link: #7ec0f2;
  --pass: #8fe0a6; --pass-bg: #15371f; --fail: #ffb3aa; --fail-bg: #4a1a17;
  --not: #c3ccd5; --not-bg: #2b333b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
main, header { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.1rem); line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 0 0 1rem; }
h3 { font-size: 1rem; margin: 1rem 0 .4rem; }
a { color: var(--link); }
p { margin: .2rem 0; }
header p { color: var(--soft); max-width: 46rem; }
nav ul { padding-left: 1.2rem; columns: 18rem; }
section { margin: 2.5rem 0; padding-top: 1.5rem; border-top: 1px solid var(--line); }
figure { margin: 0 0 1rem; }
picture { display: block; background: #ffffff; border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem; text-align: center; }
img { width: 100%; height: auto; vertical-align: middle; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .5rem; }
.counts, .claims { list-style: none; padding: 0; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1.25rem 0; }
.claims { display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
.claims li { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .8rem .9rem; }
.claims p { margin-top: .45rem; }
.number { font-weight: 600; }
.rule { color: var(--soft); font-size: .87rem; }
.badge { display: inline-block; padding: .05rem .6rem; border-radius: 1rem; font-size: .87rem;
  font-weight: 600; white-space: nowrap; }
.pass { color: var(--pass); background: var(--pass-bg); }
.fail { color: var(--fail); background: var(--fail-bg); }
.not { color: var(--not); background: var(--not-bg); }
details { border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem;
  margin: .6rem 0; }
summary { cursor: pointer; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; overflow-wrap: normal; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; }
th.right, td.right { text-align: right; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .25rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; }
@media print { details > * { display: block; } section { break-inside: avoid; } }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>rillax: the paper, run again</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Streaming RL under partial observability, run again</h1>
<p>Our runs of the experiments of <cite>Streaming Reinforcement Learning under Partial Observability
with Real-Time Recurrent Learning</cite> (Farr, Reddi, D'Eramo, Peters), each beside what the paper
says of it, in our words, and the number of ours that decides.</p>
{overview}
<nav aria-label="Figures"><ul>{contents}</ul></nav>
</header>
<main>
{sections}
<section id="settings"><h2>Where our settings differ from the paper's</h2>{differences}</section>
<section id="origin"><h2>Where it ran</h2>{origin}</section>
</main>
</body>
</html>
"""
