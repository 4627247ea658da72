"""The look of a report: by the reader's own light or dark, on a phone, and on paper."""

STYLE = """
:root {
  --ground: #f6f5f2; --card: #ffffff; --ink: #1d1f24; --soft: #5a5f6a; --line: #dcdad4; --accent: #8f2361;
  --good: #17693c; --good-ground: #dff3e6; --bad: #a3172a; --bad-ground: #fbe3e5; --odd: #7a4d00; --odd-ground: #fcefd6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171b; --card: #1e2127; --ink: #e8e6e1; --soft: #a3a8b3; --line: #353942; --accent: #f08cc0;
    --good: #8fdcae; --good-ground: #153524; --bad: #ffa3ac; --bad-ground: #42171d; --odd: #f5c878; --odd-ground: #3a2b10;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 72rem; padding: 0 1.25rem 2rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
header { padding: 1.75rem 0 .5rem; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 .9rem; font-size: 1.2rem; }
p { margin: 0 0 .8rem; overflow-wrap: anywhere; }
header p, footer p { color: var(--soft); }
.badge {
  display: inline-block; vertical-align: .25em; padding: .1em .6em; border-radius: 1em; font-size: .85rem;
  letter-spacing: .04em;
}
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.odd { color: var(--odd); background: var(--odd-ground); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
a { color: var(--accent); }
section {
  margin: 1.1rem 0; padding: 1.2rem 1.3rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
}
section > :last-child { margin-bottom: 0; }
.warnings { margin: 0 0 1rem; padding: .7rem 1rem; color: var(--odd); background: var(--odd-ground); border-radius: .4rem; }
.warnings ul { margin: 0; padding-left: 1.1rem; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8.8rem), 1fr)); gap: .7rem; margin: 0 0 1.2rem; }
.tiles > div { min-width: 0; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .4rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.tiles dt + dd { color: var(--ink); font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
thead th { vertical-align: bottom; }
.facts { width: 100%; }
.facts th { width: 11rem; }
.facts td { overflow-wrap: anywhere; }
.pictures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; margin: 0 0 1rem;
}
figure {
  margin: 0; padding: .7rem; background: var(--card); color: var(--soft); border: 1px solid var(--line); border-radius: .4rem;
  break-inside: avoid;
}
img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { margin-top: .5rem; font-size: .85rem; line-height: 1.4; overflow-wrap: anywhere; }
details { margin: 0 0 .6rem; }
summary { cursor: pointer; color: var(--accent); }
pre {
  margin: .5rem 0 0; padding: .8rem 1rem; background: var(--ground); border-radius: .4rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: .82rem/1.45 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace;
}
footer { font-size: .85rem; }
@media (max-width: 36rem) {
  body { padding: 0 .6rem 1.5rem; }
  h1 { font-size: 1.5rem; }
  section { padding: .9rem .8rem; }
  .facts th { width: 6.5rem; }
  th, td { padding-right: .6rem; }
  figure { padding: .3rem; }
}
@media print {
  :root {
    --ground: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb; --accent: #000000;
    --good: #000000; --good-ground: #ffffff; --bad: #000000; --bad-ground: #ffffff; --odd: #000000; --odd-ground: #ffffff;
  }
  @page { margin: 14mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, details:not([open]) { display: none; }
  section { border: 0; padding: 0; margin: 0 0 7mm; }
  h2 { break-after: avoid; }
  .badge, .warnings { border: 1px solid #000000; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .pictures > :only-child { grid-column: 1 / -1; }
  tr { break-inside: avoid; }
}
"""
