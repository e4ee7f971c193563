"""The styles of a report: light, dark, and print."""

from __future__ import annotations

from typing import Final

CSS: Final = """
:root { color-scheme: light dark; --page:#f6f7f9; --card:#fff; --ink:#16202c; --soft:#5d6b7a; --line:#e3e7ec;
  --good:#137a4d; --good-soft:#e2f4ea; --bad:#c0332b; --bad-soft:#fcebe9; --held:#cfe6d9; --lost1:#f2b8a6;
  --lost2:#e2694f; --lost3:#b3261e; --excused:#d9dee5; --c1:#2f6fde; --c2:#d97b1f; --c3:#12998a; --c4:#8d5ad0;
  --c5:#8795a5; }
@media (prefers-color-scheme: dark) { :root { --page:#0f141a; --card:#171e26; --ink:#e8edf2; --soft:#93a1b0;
  --line:#27313c; --good:#5fd39c; --good-soft:#12301f; --bad:#ff8d80; --bad-soft:#3a1815; --held:#1f4634;
  --lost1:#7d3a2c; --lost2:#c4523b; --lost3:#ff7a66; --excused:#333f4b; --c1:#6fa0ff; --c2:#f0a04b; --c3:#3fc9b8;
  --c4:#b78af0; --c5:#7d8b9a; } }
* { box-sizing: border-box }
body { margin:0; background:var(--page); color:var(--ink); font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
  font-variant-numeric: tabular-nums }
main { max-width: 1040px; margin: 0 auto; padding: 40px 24px 64px }
.kicker { color:var(--soft); letter-spacing:.08em; text-transform:uppercase; font-size:12px; margin:0 0 10px }
h1 { font-size:29px; line-height:1.25; margin:0 0 8px; font-weight:650; text-wrap:balance }
h2 { font-size:18px; margin:0 0 2px; font-weight:620 }
h3 { font-size:22px; margin:44px 0 14px }
p.note { color:var(--soft); margin:0 0 16px; max-width:78ch }
.verdict { border-left:6px solid var(--good); padding:2px 0 2px 20px; margin-bottom:28px }
.verdict.bad { border-color:var(--bad) }
.pill { display:inline-block; border-radius:99px; padding:2px 12px; font-size:13px; font-weight:600;
  background:var(--good-soft); color:var(--good) }
.bad .pill, .pill.bad { background:var(--bad-soft); color:var(--bad) }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(124px,1fr)); gap:12px; margin:0 0 24px }
.tile, section { background:var(--card); border:1px solid var(--line); border-radius:12px }
.tile { padding:14px 16px }
.tile b { display:block; font-size:21px; font-weight:620; line-height:1.3; white-space:nowrap }
.tile span { color:var(--soft); font-size:13px }
section { padding:22px 24px; margin:0 0 18px; break-inside:avoid }
svg { width:100%; height:auto; display:block }
svg text { font:12.5px system-ui,sans-serif; fill:var(--ink) }
svg .tick { fill:var(--soft); font-size:11.5px } svg .bad { fill:var(--bad); font-weight:600 }
svg .name { font-weight:600; stroke:var(--card); stroke-width:5px; paint-order:stroke }
.grid { stroke:var(--line) } .held { fill:var(--held) } .excused { fill:var(--excused) }
.lost1 { fill:var(--lost1) } .lost2 { fill:var(--lost2) } .lost3 { fill:var(--lost3) }
.fault { fill:var(--bad); stroke:var(--card); stroke-width:1.5 }
.c1 { fill:var(--c1); stroke:var(--c1) } .c2 { fill:var(--c2); stroke:var(--c2) } .c3 { fill:var(--c3);
  stroke:var(--c3) }
.c4 { fill:var(--c4); stroke:var(--c4) } .c5 { fill:var(--c5); stroke:var(--c5) }
rect.c1,rect.c2,rect.c3,rect.c4,rect.c5,circle { stroke:none }
.curve { fill:none !important; stroke-width:2.5; stroke-linejoin:round }
.thin { stroke-width:1.5 } .thick { stroke-width:5; stroke-linecap:round }
.whisker { stroke:var(--c5); stroke-width:1.5 }
.legend { color:var(--soft); font-size:13px; margin:10px 0 0; display:flex; gap:18px; flex-wrap:wrap }
.legend i { display:inline-block; width:11px; height:11px; border-radius:3px; margin-right:6px }
.scroll { overflow-x:auto }
table { border-collapse:collapse; width:100%; font-size:13.5px }
th { text-align:left; color:var(--soft); font-weight:500; border-bottom:1px solid var(--line); padding:6px 14px 6px 0 }
td { border-bottom:1px solid var(--line); padding:6px 14px 6px 0; vertical-align:top }
td.n, th.n { text-align:right } tr:last-child td { border-bottom:0 }
code { font:12.5px ui-monospace,SFMono-Regular,Menlo,monospace; overflow-wrap:anywhere }
td .t, td code.id { white-space:nowrap }
dl { display:grid; grid-template-columns:max-content 1fr; gap:4px 20px; margin:0; font-size:13.5px }
dt { color:var(--soft) } dd { margin:0; overflow-wrap:anywhere }
footer { color:var(--soft); font-size:13px; margin-top:28px }
@media print { :root { --page:#fff; --card:#fff } main { padding:0; max-width:none } section,.tile { border-color:#ccc }
  h3 { break-after:avoid } * { print-color-adjust:exact } }
"""
