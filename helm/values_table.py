"""Prints a chart's README with the table of its values, made from the comments "# --" of values.yaml.

usage: values_table.py VALUES README
"""

import json
import pathlib
import re
import sys

import yaml

BEGIN, END = "<!-- values: made by scripts/chart -->", "<!-- end of values -->"


def described(lines):
    """Path and comment of every value that has one."""
    path, comment = [], None
    for line in lines:
        if match := re.match(r"\s*# -- (.*)", line):
            comment = match[1]
        elif match := re.match(r"( *)([A-Za-z]+):", line):
            depth = len(match[1]) // 2
            path = path[:depth] + [match[2]]
            if comment:
                yield tuple(path), comment
            comment = None


def at(values, path):
    for name in path:
        values = values[name]
    return values


def leaves(values, known, path=()):
    """Paths of all values; one with a comment is a value, whatever it holds."""
    for name, value in values.items():
        inner = path + (name,)
        if isinstance(value, dict) and inner not in known:
            yield from leaves(value, known, inner)
        else:
            yield inner


def main(values_file, readme_file):
    text = pathlib.Path(values_file).read_text()
    values, comments = yaml.safe_load(text), dict(described(text.splitlines()))
    silent = [".".join(path) for path in leaves(values, comments) if path not in comments]
    if silent:
        sys.exit(f"{values_file}: no comment for {', '.join(silent)}")
    table = ["| Value | Default | Meaning |", "| --- | --- | --- |"]
    table += [f"| `{'.'.join(path)}` | `{json.dumps(at(values, path))}` | {text} |" for path, text in comments.items()]
    before, rest = pathlib.Path(readme_file).read_text().split(BEGIN)
    print(before + "\n".join([BEGIN, *table, END]) + rest.split(END)[1], end="")


main(*sys.argv[1:])
