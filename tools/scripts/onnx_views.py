"""Index maps of make_onnx_goldens.py: layout operators as affine maps that compose.

    View("%x", [2, 3, 4]).reshaped([2, 12]).map_text()   # affine_map<(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)>
"""


class Index:
    """constant + sum of coefficient * atom; an atom is a dimension, a quotient or a remainder."""

    def __init__(self, terms=(), constant=0):
        self.terms = [(c, a) for c, a in terms if c != 0]
        self.constant = constant

    @staticmethod
    def dim(i):
        return Index([(1, ("d", i))])

    def plus(self, other):
        merged = {}
        for c, a in self.terms + other.terms:
            merged[a] = merged.get(a, 0) + c
        return Index([(c, a) for a, c in merged.items()], self.constant + other.constant)

    def times(self, factor):
        return Index([(c * factor, a) for c, a in self.terms], self.constant * factor)

    def key(self):
        return (tuple(sorted(self.terms, key=str)), self.constant)

    def range(self, dims):
        low = high = self.constant
        for c, a in self.terms:
            top = atom_maximum(a, dims)
            low += min(0, c * top)
            high += max(0, c * top)
        return low, high

    def text(self):
        parts = []
        for c, a in self.terms:
            parts.append(atom_text(a) if c == 1 else f"{atom_text(a)} * {c}")
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    def at(self, point):
        return self.constant + sum(c * atom_at(a, point) for c, a in self.terms)

    def substitute(self, by, dims):
        out = Index([], self.constant)
        for c, a in self.terms:
            out = out.plus(atom_substitute(a, by, dims).times(c))
        return out


def from_key(key):
    return Index(list(key[0]), key[1])


def atom_maximum(atom, dims):
    if atom[0] == "d":
        return max(dims[atom[1]] - 1, 0)
    inner = from_key(atom[1]).range(dims)[1]
    return inner // atom[2] if atom[0] == "div" else min(inner, atom[2] - 1)


def atom_text(atom):
    if atom[0] == "d":
        return f"d{atom[1]}"
    return f"(({from_key(atom[1]).text()}) {'floordiv' if atom[0] == 'div' else 'mod'} {atom[2]})"


def atom_at(atom, point):
    if atom[0] == "d":
        return point[atom[1]]
    inner = from_key(atom[1]).at(point)
    return inner // atom[2] if atom[0] == "div" else inner % atom[2]


def atom_substitute(atom, by, dims):
    if atom[0] == "d":
        return by[atom[1]]
    inner = from_key(atom[1]).substitute(by, dims)
    return floordiv(inner, atom[2], dims) if atom[0] == "div" else modulo(inner, atom[2], dims)


def split(index, k):
    whole = Index([(c, a) for c, a in index.terms if c % k == 0], index.constant // k * k)
    return whole, Index([(c, a) for c, a in index.terms if c % k != 0], index.constant % k)


def floordiv(index, k, dims):
    if k == 1:
        return index
    whole, rest = split(index, k)
    quotient = Index([(c // k, a) for c, a in whole.terms], whole.constant // k)
    low, high = rest.range(dims)
    if 0 <= low and high < k:
        return quotient
    return quotient.plus(Index([(1, ("div", rest.key(), k))]))


def modulo(index, k, dims):
    if k == 1:
        return Index()
    rest = split(index, k)[1]
    low, high = rest.range(dims)
    return rest if 0 <= low and high < k else Index([(1, ("mod", rest.key(), k))])


class View:
    """A value of the graph, read through an index map: element i is the source's element map(i)."""

    def __init__(self, name, source_dims, dims=None, index=None):
        self.name = name
        self.source_dims = list(source_dims)
        self.dims = list(source_dims if dims is None else dims)
        self.summed = None  # the axes that a sum behind this value went over: whoever reads it walks likewise
        self.index = [Index.dim(i) for i in range(len(source_dims))] if index is None else index

    def through(self, dims, by):
        """Over new dimensions; by[i] says where in them this view's dimension i stands."""
        return View(self.name, self.source_dims, dims, [e.substitute(by, dims) for e in self.index])

    def reshaped(self, dims):
        linear, stride = Index(), 1
        for i in reversed(range(len(dims))):
            linear = linear.plus(Index.dim(i).times(stride))
            stride *= dims[i]
        by, stride = [None] * len(self.dims), 1
        for i in reversed(range(len(self.dims))):
            by[i] = modulo(floordiv(linear, stride, dims), self.dims[i], dims) if i else floordiv(linear, stride, dims)
            stride *= self.dims[i]
        return self.through(dims, by)

    def broadcast(self, dims):
        lead = len(dims) - len(self.dims)
        by = [Index.dim(lead + i) if n == dims[lead + i] else Index() for i, n in enumerate(self.dims)]
        return self.through(dims, by)

    def is_plain(self):
        return self.dims == self.source_dims and [e.key() for e in self.index] == [
            Index.dim(i).key() for i in range(len(self.dims))
        ]

    def map_text(self, rank=None):
        rank = len(self.dims) if rank is None else rank
        return f"affine_map<({', '.join(f'd{i}' for i in range(rank))}) -> ({', '.join(e.text() for e in self.index)})>"
