#!/usr/bin/env python3
"""Parses a page of `fusec explain --html` as a browser would and says what is in it.

usage: check_page.py PAGE
"""
import html.parser
import json
import re
import sys

KNOWN = set(
    "html head meta title style body a header p h1 h2 h3 nav main section div span label select aside table noscript script".split()
)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.foreign, self.references, self.data, self.in_data = 0, 0, 0, "", False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.scripts += tag == "script"
        self.foreign += tag not in KNOWN
        self.references += any(
            not attributes[key].startswith("#") for key in ("href", "src") if attributes.get(key) is not None
        )
        self.in_data = attributes.get("id") == "data"

    def handle_endtag(self, tag):
        self.in_data = False

    def handle_data(self, data):
        if self.in_data:
            self.data += data


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
report = json.loads(page.data)
print("scripts", page.scripts)
print("foreign elements", page.foreign)
print("outside references", page.references + len(re.findall(r"@import|url\(|fetch\(|XMLHttpRequest", text)))
print("sections", len(report["sections"]))
names = {op["name"] for section in report["sections"] for op in section["before"]}
print("names", *sorted(name for name in names if "<" in name))
