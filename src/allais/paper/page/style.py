"""How the report looks: one column of text, figures beside each other where there is room."""

STYLE = """
:root { --ink: #1d2329; --ground: #ffffff; --soft: #5b6570; --line: #d5dbe1; --panel: #f4f7f9;
  --good: #1d7a3e; --bad: #b3261e; --known: #96600a; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --ground: #15191d; --soft: #a0aab4;
  --line: #333c45; --panel: #1d2329; --good: #62c483; --bad: #f28b82; --known: #e0b15e; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 0 auto;
  max-width: 78rem; padding: 1.25rem 1rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .25rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
a { color: inherit; } .soft { color: var(--soft); } p { margin: .5rem 0; max-width: 52rem; }
code { background: var(--panel); padding: .1rem .35rem; border-radius: .25rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } .of td { font-weight: 600; padding-top: 1.2rem; }
.numbers td:not(:first-child):not(.words) { white-space: nowrap; } .numbers .words { min-width: 14rem; }
.numbers td:first-child { min-width: 6rem; }
span.holds { color: var(--good); } span.corrected, span.typing { color: var(--known); }
span.differs { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; max-width: 60rem; }
dt { color: var(--soft); } dd { margin: 0; }
.errata { grid-template-columns: minmax(12rem, 22rem) 1fr; gap: .35rem 1rem; }
:target { background: var(--panel); outline: .4rem solid var(--panel); scroll-margin-top: 1rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; flex: 0 1 29rem; min-width: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem 2rem;
  margin: 1rem 0; } .three svg { max-height: 21rem; }
.kinds { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.kinds section { background: var(--panel); border-radius: .5rem; padding: .25rem 1rem .5rem;
  border-top: .25rem solid var(--known); font-size: .92rem; }
.kinds .holds { border-color: var(--good); } .kinds .differs { border-color: var(--bad); }
.kinds h3 { margin: .5rem 0 0; font-size: 1.05rem; } .kinds ul { padding-left: 1.1rem; margin: .25rem 0; }
.name { white-space: nowrap; } .opening p { max-width: 60rem; }
.count { font-size: 1.7rem; font-weight: 600; } .kinds li { margin: .2rem 0; }
@media (max-width: 44rem) {
  body { padding-top: .75rem; } h1 { font-size: 1.3rem; } .opening p { font-size: .95rem; line-height: 1.45; }
  .findings thead { display: none; } .findings tr { display: block; border-bottom: 1px solid var(--line);
    padding: .5rem 0; } .findings td { display: block; border: 0; padding: .05rem 0; }
  .findings td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  dl, .errata { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; } }
@media print { body { max-width: none; font-size: 10.5pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } .wide { overflow: visible; } }
"""
