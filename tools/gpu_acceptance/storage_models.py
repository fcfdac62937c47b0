"""Writes the one-layer models of test/golden/e2e/storage.json as GGUF files.

Every matrix is random bytes in one storage format (make_storage_goldens.py states
the rule), 256 wide: small enough to carry in every format.

    for path in write_storage_models(Path("models")): ...
"""
import json
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MASK = (1 << 64) - 1
STRING, ARRAY, U32, F32 = 8, 9, 4, 6
ALIGNMENT = 32


def splitmix64(index):
    z = ((index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def count_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class Stream:
    """The numbers that all tensors of a model take from, one after the other."""

    def __init__(self):
        self.next = 0

    def take(self, count):
        numbers = [splitmix64(i) for i in range(self.next, self.next + count)]
        self.next += count
        return numbers


def matrix(record, shape, stream):
    size = count_of(shape) // record["block_elements"] * record["block_bytes"]
    data = bytearray(struct.pack(f"<{-(-size // 8)}Q", *stream.take(-(-size // 8)))[:size])
    for block in range(0, size, record["block_bytes"]):
        for offset, keep, forced in record["words"]:
            word, = struct.unpack_from("<H", data, block + offset)
            struct.pack_into("<H", data, block + offset, word & keep | forced)
    return bytes(data)


def vector(shape, offset, scale, stream):
    numbers = stream.take(count_of(shape))
    return struct.pack(f"<{len(numbers)}f", *(offset + scale * ((n >> 40) / 2**23 - 1) for n in numbers))


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(record):
    arch, vocab = record["arch"], record["vocab"]
    tokens = [chr(0x4E00 + i) for i in range(vocab)]
    numbers = {"block_count": 1, "context_length": 512, "embedding_length": 256, "feed_forward_length": 256,
               "attention.head_count": 8, "attention.head_count_kv": 2}
    rows = [text("general.architecture") + struct.pack("<I", STRING) + text(arch)]
    rows += [text(f"{arch}.{name}") + struct.pack("<II", U32, value) for name, value in numbers.items()]
    rows.append(text(f"{arch}.attention.layer_norm_rms_epsilon") + struct.pack("<If", F32, 1e-5))
    for name, value in (("model", "gpt2"), ("pre", "gpt-2")):
        rows.append(text(f"tokenizer.ggml.{name}") + struct.pack("<I", STRING) + text(value))
    for name, values in (("tokens", tokens), ("merges", [])):
        rows.append(text(f"tokenizer.ggml.{name}") + struct.pack("<IIQ", ARRAY, STRING, len(values)) +
                    b"".join(text(v) for v in values))
    return rows


def write_model(record, path):
    stream, infos, blobs, offset = Stream(), [], [], 0
    for name, shape, *affine in record["tensors"]:
        data = vector(shape, *affine, stream) if affine else matrix(record, shape, stream)
        kind = 0 if affine else record["type"]
        infos.append(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape)) +
                     struct.pack("<IQ", kind, offset))
        data += bytes(-len(data) % ALIGNMENT)
        blobs.append(data)
        offset += len(data)
    rows = metadata(record)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(rows)) + b"".join(rows) + b"".join(infos)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + b"".join(blobs))


def write_storage_models(folder, formats=None):
    """One file per format, e.g. "Q4_K.gguf"; all formats without `formats`."""
    folder.mkdir(parents=True, exist_ok=True)
    records = json.loads((ROOT / "test/golden/e2e/storage.json").read_text())
    for record in records:
        path = folder / f"{record['name']}-{record['arch']}.gguf"
        if (formats is None or record["name"] in formats) and not path.exists():
            write_model(record, path)
        if path.exists():
            yield path
