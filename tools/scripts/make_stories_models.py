#!/usr/bin/env python3
"""Derives test models in several file formats from stories260K-f32.gguf.

Writes into --out:
  stories-f16.gguf, stories-q8_0.gguf   (the 172-column ffn_down stays F16)
  stories-split/stories-0000N-of-00003.gguf
  hf/                 safetensors F32, tied, no lm_head          (bug 12: tied, absent)
  hf-sharded/         the same in three shards with an index
  hf-bf16/            the same in BF16
  hf-tied-present/    tied, lm_head equal to the embedding
  hf-tied-different/  tied, lm_head that contradicts it          (loads, with a warning)
  hf-untied-present/  not tied, lm_head there
  hf-untied-absent/   not tied, no lm_head                       (must be refused)
Every hf* folder has config.json, generation_config.json, tokenizer.model and
tokenizer_config.json. Output is deterministic.

Needs: numpy, gguf, safetensors.
Usage: make_stories_models.py --out DIR [--source stories260K-f32.gguf]
"""
import argparse
import json
import shutil
import struct
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import quantize
from safetensors.numpy import save_file

HF_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
# GGUF token type -> SentencePiece piece type (equal numbers, listed for the reader)
PIECE_TYPES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6}


class Source:
    """The F32 GGUF: metadata values and arrays in [rows, cols] order."""

    def __init__(self, path):
        self.reader = GGUFReader(path)
        self.fields = {k: f for k, f in self.reader.fields.items() if not k.startswith("GGUF.")}
        self.tensors = {t.name: t.data.reshape([int(n) for n in reversed(t.shape)]) for t in self.reader.tensors}

    def value(self, key):
        return self.fields[key].contents()


# --- GGUF -------------------------------------------------------------------


def copy_metadata(source, writer, file_type):
    for key, field in source.fields.items():
        if key in ("general.architecture", "general.alignment"):
            continue
        is_array = field.types[0] == GGUFValueType.ARRAY
        writer.add_key_value(key, field.contents(), field.types[0], sub_type=field.types[-1] if is_array else None)
    writer.add_file_type(file_type)


def write_gguf(source, path, convert, file_type, split=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, source.value("general.architecture"), split_max_tensors=split)
    copy_metadata(source, writer, file_type)
    for name, data in source.tensors.items():
        array, qtype = convert(data)
        writer.add_tensor(name, array, raw_dtype=qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def keep_f32(data):
    return data, None


def to_f16(data):
    return (data.astype(np.float16), None) if data.ndim == 2 else keep_f32(data)


def to_q8_0(data):
    if data.ndim != 2 or data.shape[1] % 32 != 0:
        return to_f16(data)
    return quantize(data, GGMLQuantizationType.Q8_0), GGMLQuantizationType.Q8_0


# --- Hugging Face -----------------------------------------------------------


def to_half_split(rows, head_dim):
    """Rows of each head from pairs (2i, 2i+1) to pairs (i, i + head_dim/2)."""
    out, cols = rows.shape
    return rows.reshape(out // head_dim, head_dim // 2, 2, cols).swapaxes(1, 2).reshape(out, cols)


def hf_name(name):
    if name in HF_NAMES:
        return HF_NAMES[name]
    _, layer, rest = name.split(".", 2)
    return f"model.layers.{layer}.{HF_NAMES[rest]}"


def hf_tensors(source):
    head_dim = source.value("llama.rope.dimension_count")
    tensors = {}
    for name, data in source.tensors.items():
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            data = to_half_split(data, head_dim)
        tensors[hf_name(name)] = np.ascontiguousarray(data, np.float32)
    return tensors


def write_safetensors(path, tensors, dtype="float32"):
    if dtype == "float32":
        return save_file(tensors, path, {"format": "pt"})
    # numpy knows no bfloat16, so this header is written by hand.
    header, blobs, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name in sorted(tensors):
        blob = quantize(tensors[name].reshape(1, -1), GGMLQuantizationType.BF16).tobytes()
        header[name] = {"dtype": "BF16", "shape": list(tensors[name].shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def hf_config(source, tied, dtype):
    v = source.value
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": v("tokenizer.ggml.bos_token_id"),
        "eos_token_id": v("tokenizer.ggml.eos_token_id"),
        "hidden_act": "silu",
        "hidden_size": v("llama.embedding_length"),
        "intermediate_size": v("llama.feed_forward_length"),
        "max_position_embeddings": v("llama.context_length"),
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": v("llama.attention.head_count"),
        "num_hidden_layers": v("llama.block_count"),
        "num_key_value_heads": v("llama.attention.head_count_kv"),
        "rms_norm_eps": 1e-05,
        "rope_scaling": None,
        "rope_theta": v("llama.rope.freq_base"),
        "tie_word_embeddings": tied,
        "torch_dtype": dtype,
        "vocab_size": v("llama.vocab_size"),
    }


# --- tokenizer.model: a SentencePiece protobuf, written field by field --------


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field_int(number, value):
    return varint(number << 3) + varint(value)


def field_bytes(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def field_float(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def sentencepiece_model(source):
    tokens = source.value("tokenizer.ggml.tokens")
    scores = source.value("tokenizer.ggml.scores")
    types = source.value("tokenizer.ggml.token_type")
    model = b""
    for token, score, kind in zip(tokens, scores, types):
        piece = field_bytes(1, token.encode()) + field_float(2, score)
        if PIECE_TYPES[kind] != 1:
            piece += field_int(3, PIECE_TYPES[kind])
        model += field_bytes(1, piece)
    bpe, ids = 2, [source.value(f"tokenizer.ggml.{n}_token_id") for n in ("unknown", "bos", "eos")]
    trainer = field_int(3, bpe) + field_int(4, len(tokens)) + field_int(35, 1)  # 35: byte_fallback
    for number, token_id in zip((40, 41, 42), ids):
        trainer += field_int(number, token_id)
    trainer += field_int(43, (1 << 64) - 1)  # no padding token: -1
    normalizer = field_bytes(1, b"identity") + field_int(3, 1) + field_int(4, 0) + field_int(5, 1)
    return model + field_bytes(2, trainer) + field_bytes(3, normalizer)


def write_hf_common(source, folder, tied, dtype):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / "config.json", hf_config(source, tied, dtype))
    write_json(folder / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "temperature": 0.6, "top_p": 0.9})
    write_json(folder / "tokenizer_config.json", {
        "add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "legacy": True, "tokenizer_class": "LlamaTokenizer"})
    (folder / "tokenizer.model").write_bytes(sentencepiece_model(source))


def write_hf(source, folder, tensors, tied, dtype="float32"):
    write_hf_common(source, folder, tied, dtype)
    write_safetensors(folder / "model.safetensors", tensors, dtype)


def write_hf_sharded(source, folder, tensors, shards=3):
    write_hf_common(source, folder, True, "float32")
    names = sorted(tensors)
    weight_map, total = {}, 0
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[shard::shards]}
        write_safetensors(folder / file, part)
        weight_map |= dict.fromkeys(part, file)
        total += sum(data.nbytes for data in part.values())
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})


def main():
    root = Path(__file__).resolve().parents[2]
    default = root.parent / "shared/data/models/stories260K/stories260K-f32.gguf"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--source", type=Path, default=default)
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    source = Source(options.source)
    write_gguf(source, out / "stories-f16.gguf", to_f16, 1)
    write_gguf(source, out / "stories-q8_0.gguf", to_q8_0, 7)
    write_gguf(source, out / "stories-split/stories.gguf", keep_f32, 0, split=16)
    tensors = hf_tensors(source)
    head = {"lm_head.weight": tensors["model.embed_tokens.weight"]}
    write_hf(source, out / "hf", tensors, tied=True)
    write_hf_sharded(source, out / "hf-sharded", tensors)
    write_hf(source, out / "hf-bf16", tensors, tied=True, dtype="bfloat16")
    write_hf(source, out / "hf-tied-present", tensors | head, tied=True)
    write_hf(source, out / "hf-tied-different", tensors | {"lm_head.weight": head["lm_head.weight"] * 2}, tied=True)
    write_hf(source, out / "hf-untied-present", tensors | head, tied=False)
    write_hf(source, out / "hf-untied-absent", tensors, tied=False)


if __name__ == "__main__":
    main()
