#!/usr/bin/env python3
"""Makes the golden renderings of chat templates with Python's jinja2.

    pip install jinja2 gguf
    python3 tools/scripts/make_template_goldens.py [--gguf model.gguf]

Reads the templates of ../shared/data (templates/ and tokenizers/hf/) and
test/golden/templates/{contexts,features}.json; writes one JSON file per
template under test/golden/templates/rendered/ and the results of the feature
templates into features.json itself. The environment is the one Transformers
uses for chat templates: immutable sandbox, trim_blocks, lstrip_blocks, loop
controls, generation blocks, `tojson` as json.dumps, raise_exception and
strftime_now (with a fixed clock).
"""

import argparse
import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
GOLDEN = ROOT / "test" / "golden" / "templates"
CLOCK = datetime.datetime(2025, 3, 9, 14, 5, 7)


class Generation(Extension):
    """{% generation %}...{% endgeneration %}: renders its body as a call block."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    @staticmethod
    def _render(caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = CLOCK.strftime
    return env


def outcome(source, context):
    """{"text": ...}, or {"error": message, "stage": "compile" or "render"}."""
    try:
        template = environment().from_string(source)
    except Exception as error:
        return {"error": str(error), "stage": "compile"}
    try:
        return {"text": template.render(**context)}
    except Exception as error:
        return {"error": str(error), "stage": "render"}


def templates(gguf):
    """Yields (name, source): files of templates/, of tokenizers/hf/, and the GGUF's."""
    for path in sorted((DATA / "templates").rglob("*.jinja")):
        yield str(path.relative_to(DATA)), path.read_bytes().decode()
    for path in sorted((DATA / "tokenizers" / "hf").glob("*/chat_template.jinja")):
        yield str(path.relative_to(DATA)), path.read_bytes().decode()
    for path in sorted((DATA / "tokenizers" / "hf").glob("*/tokenizer_config.json")):
        chat = json.loads(path.read_text()).get("chat_template")
        if isinstance(chat, str):
            yield str(path.relative_to(DATA)), chat
        for entry in chat if isinstance(chat, list) else []:
            yield f"{path.relative_to(DATA)}#{entry['name']}", entry["template"]
    if gguf:
        import gguf as reader

        field = reader.GGUFReader(gguf).get_field("tokenizer.chat_template")
        yield "inline/smollm2", bytes(field.parts[field.data[0]]).decode()


def render_all(gguf):
    contexts = json.loads((GOLDEN / "contexts.json").read_text())
    for path in sorted((DATA / "templates" / "minja-contexts").glob("*.json")):
        contexts["minja-" + path.stem] = json.loads(path.read_text())
    folder = GOLDEN / "rendered"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, source in templates(gguf):
        seen, renderings = {}, {}
        for context_name, context in contexts.items():
            result = outcome(source, context)
            key = json.dumps(result)
            renderings[context_name] = {"same": seen[key]} if key in seen else result
            seen.setdefault(key, context_name)
        golden = {"template": name, "renderings": renderings}
        if name.startswith("inline/"):
            golden["source"] = source
        file = name.replace("/", "-").replace("#", "-") + ".json"
        (folder / file).write_text(json.dumps(golden, ensure_ascii=False, indent=0) + "\n")


def render_features():
    path = GOLDEN / "features.json"
    rows = json.loads(path.read_text())
    for row in rows:
        row.pop("text", None), row.pop("error", None), row.pop("stage", None)
        row.update(outcome(row["source"], row.get("context", {})))
    path.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--gguf", help="a model whose template is stored with its rendering")
    options = arguments.parse_args()
    render_features()
    if DATA.exists():
        render_all(options.gguf)
