"""The styles of a report: light, dark, and print."""

from __future__ import annotations

from typing import Final

CSS: Final = """
:root { color-scheme: light dark; --page:#f6f7f9; --card:#fff; --ink:#16202c; --soft:#5d6b7a; --line:#e3e7ec;
  --good:#137a4d; --good-soft:#e2f4ea; --bad:#c0332b; --bad-soft:#fcebe9 }
@media (prefers-color-scheme: dark) { :root { --page:#0f141a; --card:#171e26; --ink:#e8edf2; --soft:#93a1b0;
  --line:#27313c; --good:#5fd39c; --good-soft:#12301f; --bad:#ff8d80; --bad-soft:#3a1815 } }
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
section { overflow-x:auto } .picture { min-height:20px }
.legend { color:var(--soft); font-size:13px; margin:10px 0 0; display:flex; gap:18px; flex-wrap:wrap }
.legend i { display:inline-block; width:11px; height:11px; border-radius:3px; margin-right:6px }
.scroll { overflow-x:auto }
.plots { display:flex; flex-wrap:wrap; gap:18px } summary { color:var(--soft); cursor:pointer }
table { border-collapse:collapse; width:100%; font-size:13.5px }
th { text-align:left; color:var(--soft); font-weight:500; border-bottom:1px solid var(--line); padding:6px 14px 6px 0 }
td { border-bottom:1px solid var(--line); padding:6px 14px 6px 0; vertical-align:top }
td.n, th.n { text-align:right } tr:last-child td { border-bottom:0 }
code { font:12.5px ui-monospace,SFMono-Regular,Menlo,monospace; overflow-wrap:anywhere }
#vg-tooltip-element table { width:auto } #vg-tooltip-element td { border:0; padding:1px 6px 1px 0 }
td .t, td code.id { white-space:nowrap }
dl { display:grid; grid-template-columns:max-content 1fr; gap:4px 20px; margin:0; font-size:13.5px }
dt { color:var(--soft) } dd { margin:0; overflow-wrap:anywhere }
footer { color:var(--soft); font-size:13px; margin-top:28px }
@media print { :root { --page:#fff; --card:#fff } main { padding:0; max-width:none } section,.tile { border-color:#ccc }
  h3 { break-after:avoid } * { print-color-adjust:exact } }
"""
