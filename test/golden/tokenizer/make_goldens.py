#!/usr/bin/env python3
"""Makes the tokenizer goldens with the independent `tokenizers` library (PyPI).

  python make_goldens.py behaviours
      -> behaviours.json: small tokenizers trained here, one per configuration
         of normalizer, pre-tokenizer, decoder and added tokens
  python make_goldens.py real NAME tokenizer.json|model.gguf
      -> NAME.json: ids of the shared test strings for a real vocabulary
         (tokenizer.json may be gzip'd; a GGUF with pre "smollm" is rebuilt from
         its metadata, which needs the `gguf` package)

Used versions: tokenizers 0.23.3, gguf 0.19.
"""
import gzip
import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent

TRAINING = [
    "the quick brown fox jumps over the lazy dog, and then the other dogs jump over the fox.",
    "Once upon a time there was a little girl who didn't like 1234 or 12345 but it's 3.14 she'll want.",
    "Ähnlich wäre größer; naïve café résumé; пример текста на русском языке; 日本語のテキスト 日本 語",
    "def f(x):\n    return x + 1\n\n\nclass A:\n\tpass  # done   \n", "👩‍👩‍👧‍👦 🦙 🚀🚀 HTTP/1.1 200 OK",
] * 3

WORDS = ("the of and Hello world don't I'll WE'RE it's 3.14 1234567 2026-11-30 foo_bar camelCase HTTP/1.1 <|im_end|> <|im_start|>"
         " <|endoftext|> </s> <s> <think> <|user|> [INST] \u2581 \u0120 na\u00efve caf\u00e9 e\u0301 A\u030a \ufb01 \u00bd \u00b2"
         " \u2167 \u2460 \u0663 \u017f \u0130 \u00df K").split()
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n", "\u3000", "\u00a0", "\u2009", "\u0085", "\u2028", "\u200b", "\v", "        "]
RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x600, 0x6FF), (0x900, 0x97F),
          (0xE00, 0xE7F), (0x1780, 0x17FF), (0x2000, 0x206F), (0x2600, 0x27BF), (0x3000, 0x30FF), (0x4E00, 0x9FFF),
          (0xAC00, 0xD7A3), (0xFF00, 0xFFEF), (0x1D400, 0x1D7FF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0x300, 0x36F)]
EMOJI = ["\U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466", "\U0001F1E9\U0001F1EA", "\U0001F44D\U0001F3FD", "\u2764\uFE0F"]


def test_strings(count, seed, extra=()):
    rng = random.Random(seed)

    def atom():
        kind = rng.random()
        if kind < 0.4:
            return rng.choice(list(extra) + WORDS if rng.random() < 0.5 else WORDS)
        if kind < 0.6:
            return rng.choice(SPACES)
        if kind < 0.68:
            return "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 8)))
        if kind < 0.74:
            return "".join(rng.choice("!@#$%^&*()-=+[]{};:'\",.<>/?\\|`~") for _ in range(rng.randint(1, 4)))
        if kind < 0.8:
            return rng.choice(EMOJI)
        if kind < 0.83:
            return chr(rng.randint(0, 31))
        low, high = rng.choice(RANGES)
        return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 4)))

    out = ["", " ", "\n", "a", "\x00", "\ufffd", " a", "a b", "  a  b  "]
    while len(out) < count:
        out.append("".join(atom() + (" " if rng.random() < 0.4 else "") for _ in range(rng.randint(1, 9))))
    return out


def results(tokenizer, strings):
    """Per string: text, ids, and ids with special tokens taken as text."""
    rows = []
    for text in strings:
        tokenizer.encode_special_tokens = False
        ids = tokenizer.encode(text).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text).ids
        row = {"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)}
        if plain != ids:
            row["plain"] = plain
        rows.append(row)
    return rows


def byte_level(pre, normalizer=None, added=(), post=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([t for t in added if t.special])
    tokenizer.add_tokens([t for t in added if not t.special])
    if post:
        tokenizer.post_processor = post(tokenizer)
    return tokenizer


def metaspace(pre, decoder, normalizer=None, added=(), post=None):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=440, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]))
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [t for t in document["added_tokens"] if not t["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([t for t in added if t.special])
    tokenizer.add_tokens([t for t in added if not t.special])
    if post:
        tokenizer.post_processor = post(tokenizer)
    return tokenizer


def split(pattern, behavior, invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def bytes_after(*steps):
    return pre_tokenizers.Sequence(list(steps) + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def configurations():
    im_end = AddedToken("<|im_end|>", special=True, normalized=False)
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False)
    yield "byte-level", byte_level(plain, added=[im_end])
    yield "byte-level-prefix-space", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), added=[im_end])
    yield "ignore-merges", byte_level(plain, ignore_merges=True)
    yield "nfkc-lowercase", byte_level(plain, normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]))
    yield "nfd-strip-accents", byte_level(plain, normalizer=normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()]))
    yield "replace-regex", byte_level(plain, normalizer=normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Replace("o", "00")]))
    yield "digits", byte_level(bytes_after(pre_tokenizers.Digits(individual_digits=True)))
    yield "digits-runs", byte_level(bytes_after(pre_tokenizers.Digits(individual_digits=False)))
    yield "punctuation", byte_level(bytes_after(pre_tokenizers.Punctuation("contiguous")))
    yield "whitespace", byte_level(bytes_after(pre_tokenizers.Whitespace()))
    yield "whitespace-split", byte_level(bytes_after(pre_tokenizers.WhitespaceSplit()))
    yield "alphabet-then-digits", byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation("contiguous"), plain, pre_tokenizers.Digits(individual_digits=False),
         split(Regex("[0-9][0-9][0-9]"), "isolated")]))
    for behavior in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        yield "split-" + behavior, byte_level(bytes_after(split(Regex(r"[aeiou\s]"), behavior)))
    yield "split-inverted", byte_level(bytes_after(split(Regex(r"\w+"), "removed", invert=True)))
    yield "split-string", byte_level(bytes_after(split(". ", "merged_with_previous")))
    yield "lines", byte_level(bytes_after(split(Regex(r"^\s*|\s+$|\h+"), "isolated")))
    yield "added-options", byte_level(plain, normalizer=normalizers.Lowercase(), added=[
        im_end,
        AddedToken("<l>", special=True, normalized=False, lstrip=True),
        AddedToken("<r>", special=True, normalized=False, rstrip=True),
        AddedToken("<lr>", special=True, normalized=False, lstrip=True, rstrip=True),
        AddedToken("dog", special=False, normalized=False, single_word=True),
        AddedToken("dogs!", special=False, normalized=False),
        AddedToken("fox", special=False, normalized=True),
        AddedToken("\n\n\n", special=False, normalized=False)])
    yield "template", byte_level(plain, added=[AddedToken("<s>", special=True), AddedToken("</s>", special=True)],
                                 post=lambda t: processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
                                     single="<s> $A </s>", special_tokens=[(s, t.token_to_id(s)) for s in ("<s>", "</s>")])]))
    yield "roberta", byte_level(plain, added=[AddedToken("<s>", special=True), AddedToken("</s>", special=True)],
                                post=lambda t: processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>"))))
    fallback = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    yield "prepend-replace", metaspace(None, fallback, added=[im_end], normalizer=normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]))
    for scheme in ["always", "first", "never"]:
        yield "metaspace-" + scheme, metaspace(pre_tokenizers.Metaspace("\u2581", scheme), fallback, added=[im_end])
    yield "metaspace-whole", metaspace(pre_tokenizers.Metaspace("\u2581", "first", split=False), fallback, added=[im_end])


def write(name, value):
    path = HERE / name
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace('{"text"', '\n{"text"').replace('{"name"', '\n{"name"'))
    print(path.name, path.stat().st_size, "bytes")


def behaviours():
    extra = ["<l>", "<r>", "<lr>", "dog", "dogs!", "FOX", "fox", "\n\n\n", "jump over the", "Once upon a time", "  <lr>  ", "hotdog"]
    out = []
    for index, (name, tokenizer) in enumerate(configurations()):
        out.append({"name": name, "tokenizer": json.loads(tokenizer.to_str()),
                    "cases": results(tokenizer, test_strings(40, 100 + index, extra))})
    write("behaviours.json", out)


def from_gguf(path):
    import gguf
    fields = gguf.GGUFReader(path).fields
    strings = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    tokens = strings("tokenizer.ggml.tokens")
    types = [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)},
                                     merges=[tuple(m.split(" ")) for m in strings("tokenizer.ggml.merges")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, types) if k == 3])
    return tokenizer


def real(name, source):
    if source.endswith(".gguf"):
        tokenizer = from_gguf(source)
    else:
        opener = gzip.open if source.endswith(".gz") else open
        tokenizer = Tokenizer.from_str(opener(source, "rb").read().decode())
    write(name + ".json", {"cases": results(tokenizer, test_strings(400, 7))})


if __name__ == "__main__":
    behaviours() if sys.argv[1] == "behaviours" else real(sys.argv[2], sys.argv[3])
