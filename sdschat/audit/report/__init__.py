"""The report, one self-contained HTML file: the verdict, pictures, figures, and their sources."""

PAGE_START = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="sdschat">'
