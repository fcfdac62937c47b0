#!/usr/bin/env python3
"""Copies the generated op and pass reference into docs/reference, or checks it.

  update_reference.py BUILD          write docs/reference/*.md
  update_reference.py BUILD --check  exit 1 when a page is out of date

The pages are generated from the .td files by the build target FusecDocs.
"""
import argparse
import pathlib
import sys

PAGES = {  # page in docs/reference: generated file in the build directory
    "fuse.md": "ir/fuse/FuseOps.md",
    "tile.md": "ir/tile/TileOps.md",
    "plan.md": "ir/plan/PlanOps.md",
    "passes.md": "passes/Passes.md",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args()
    target = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
    target.mkdir(parents=True, exist_ok=True)
    stale = []
    for page, source in PAGES.items():
        text = (args.build / source).read_text()
        old = (target / page).read_text() if (target / page).exists() else ""
        if text == old:
            continue
        stale.append(page)
        if not args.check:
            (target / page).write_text(text)
    if args.check and stale:
        print(f"docs/reference is out of date: {', '.join(stale)}; run update_reference.py {args.build}", file=sys.stderr)
        return 1
    print(f"docs/reference: {len(PAGES)} pages, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
