"""Writes models that are only shapes: GGUF files whose tensors are holes.

A few layers at the width of a real model and a small vocabulary, so that kernels
have their real sizes and a step is nearly all layers. The weights are zeros that
take no disk space; the runner replaces them on the machine with the GPU.

    for shape in SHAPES: write_shape_model(shape, "q4_k", path)
"""
import struct
from dataclasses import dataclass

from storage_models import ALIGNMENT, ARRAY, F32, STRING, U32, count_of, text

# ggml type, elements and bytes per block.
TYPES = {"bf16": (30, 1, 2), "q4_k": (12, 256, 144)}


@dataclass
class Shape:
    name: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int = 512
    context: int = 32768

    @property
    def head_size(self):
        return self.hidden // self.heads


# Layers as in Llama 3.1 8B and Llama 3.2 1B; `tiny` is for the virtual device.
SHAPES = [
    Shape("8b", 2, 4096, 14336, 32, 8),
    Shape("1b", 4, 2048, 8192, 32, 8),
]
TINY = Shape("tiny", 2, 256, 512, 4, 2)


def tensors(shape):
    """Name, [rows, columns] or [size], whether it is a matrix."""
    kv = shape.kv_heads * shape.head_size
    yield "token_embd.weight", [shape.vocab, shape.hidden]
    yield "output_norm.weight", [shape.hidden]
    for i in range(shape.layers):
        for name, size in (("attn_norm", [shape.hidden]), ("attn_q", [shape.hidden, shape.hidden]),
                           ("attn_k", [kv, shape.hidden]), ("attn_v", [kv, shape.hidden]),
                           ("attn_output", [shape.hidden, shape.hidden]), ("ffn_norm", [shape.hidden]),
                           ("ffn_gate", [shape.ffn, shape.hidden]), ("ffn_up", [shape.ffn, shape.hidden]),
                           ("ffn_down", [shape.hidden, shape.ffn])):
            yield f"blk.{i}.{name}.weight", size


def metadata(shape):
    numbers = {"block_count": shape.layers, "context_length": shape.context, "embedding_length": shape.hidden,
               "feed_forward_length": shape.ffn, "attention.head_count": shape.heads,
               "attention.head_count_kv": shape.kv_heads}
    rows = [text("general.architecture") + struct.pack("<I", STRING) + text("llama")]
    rows += [text(f"llama.{name}") + struct.pack("<II", U32, value) for name, value in numbers.items()]
    rows.append(text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", F32, 1e-5))
    for name, value in (("model", "gpt2"), ("pre", "gpt-2")):
        rows.append(text(f"tokenizer.ggml.{name}") + struct.pack("<I", STRING) + text(value))
    for name, values in (("tokens", [chr(0x4E00 + i) for i in range(shape.vocab)]), ("merges", [])):
        rows.append(text(f"tokenizer.ggml.{name}") + struct.pack("<IIQ", ARRAY, STRING, len(values)) +
                    b"".join(text(v) for v in values))
    return rows


def write_shape_model(shape, kind, path):
    infos, offset = [], 0
    for name, size in tensors(shape):
        number, elements, block = TYPES[kind] if len(size) == 2 else (0, 1, 4)
        infos.append(text(name) + struct.pack("<I", len(size)) + struct.pack(f"<{len(size)}Q", *reversed(size)) +
                     struct.pack("<IQ", number, offset))
        offset += -(-(count_of(size) // elements * block) // ALIGNMENT) * ALIGNMENT
    rows = metadata(shape)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(rows)) + b"".join(rows) + b"".join(infos)
    head += bytes(-len(head) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + offset)
