#!/usr/bin/env python3
"""Lists a GGUF file with the gguf package: the oracle for models/import/Gguf.

Metadata: key -> [type, value]; an array's value is [count, first, last]. Tensors: name -> [type,
shape outermost first, bytes, first 8 bytes, last 8 bytes].

Needs: gguf. Usage: list_gguf.py MODEL.gguf > LISTING.json
"""
import json
import sys

from gguf import GGUFReader, GGUFValueType


def metadata_row(field):
    types = [t.name.lower() for t in field.types]
    value = field.contents()
    if field.types[0] == GGUFValueType.ARRAY:
        return ["array of " + types[-1], [len(value), value[0], value[-1]]]
    return [types[0], value]


def tensor_row(tensor):
    raw = tensor.data.tobytes()
    shape = [int(n) for n in reversed(tensor.shape)]
    return [tensor.tensor_type.name.lower(), shape, len(raw), raw[:8].hex(), raw[-8:].hex()]


def main():
    reader = GGUFReader(sys.argv[1])
    fields = {k: f for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    sections = {"metadata": {k: metadata_row(f) for k, f in fields.items()},
                "tensors": {t.name: tensor_row(t) for t in reader.tensors}}
    # One row per line keeps diffs readable.
    lines = []
    for name, rows in sections.items():
        body = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in rows.items())
        lines.append(f'"{name}": {{\n{body}\n}}')
    print("{" + ",\n".join(lines) + "}")


if __name__ == "__main__":
    main()
