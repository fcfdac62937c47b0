"""The text of a fuse graph, for make_onnx_goldens.py."""
import struct

from onnx_views import View


def tensor(dims):
    return f"!fuse.tensor<[{', '.join(map(str, dims))}], f32>"


def literal(value):
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


NUMERICS = "numerics <accumulate = f32, order = {}, empty = identity>"


class Graph:
    def __init__(self):
        self.arguments, self.lines, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def argument(self, name, dims):
        value = f"%a{len(self.arguments)}"
        self.arguments.append((value, name, list(dims)))
        return View(value, dims)

    def constant(self, array):
        name = self.name()
        flat = ", ".join(literal(float(v)) for v in array.reshape(-1))
        shape = "x".join(map(str, array.shape))
        value = f'dense<"0x{array.astype("<f4").tobytes().hex().upper()}"> : tensor<{shape}xf32>'
        if array.size == 1:
            value = f"dense<{flat}> : tensor<{shape}xf32>"
        self.lines.append(f'{name} = fuse.constant "c{self.count}" {value} -> {tensor(array.shape)}')
        return View(name, array.shape)

    def map(self, dims, inputs, body):
        """body: lines over %0, %1, ... that end in %r."""
        name = self.name()
        views = [v.broadcast(dims) for v in inputs]
        head = ", ".join(v.name for v in views)
        types = ", ".join(tensor(v.source_dims) for v in views)
        maps = ", ".join(v.map_text(len(dims)) for v in views)
        parameters = ", ".join(f"%i{i}: f32" for i in range(len(views)))
        self.lines.append(
            f"{name} = fuse.map({head + ' : ' + types if views else ''}) maps [{maps}] -> {tensor(dims)} {{\n"
            f"  ^bb0{'(' + parameters + ')' if views else ''}:\n    " + "\n    ".join(body) + "\n    fuse.yield %r : f32\n  }"
        )
        return View(name, dims)

    def plain(self, view):
        if view.is_plain():
            return view
        name = self.name()
        self.lines.append(
            f"{name} = fuse.view {view.name} map {view.map_text()} : {tensor(view.source_dims)} -> {tensor(view.dims)}"
        )
        return View(name, view.dims)

    def reduce(self, view, op, init):
        """Over the last dimension."""
        view, name = self.plain(view), self.name()
        dims = view.dims[:-1]
        self.lines.append(
            f"{name} = fuse.reduce({view.name} : {tensor(view.dims)}) over [{len(dims)}] init [{literal(init)} : f32] "
            f"{NUMERICS.format('lanes')} -> {tensor(dims)} combine {{\n  ^bb0(%p: f32, %q: f32):\n"
            f"    %r = {op} %p, %q : f32\n    fuse.yield %r : f32\n  }} repair {{}}"
        )
        return View(name, dims)

    def contract(self, lhs, rhs, dims, batch):
        """[batch.., m, k] x [batch.., k, n] over (batch.., m, n, k)."""
        lhs, rhs = self.plain(lhs), self.plain(rhs)
        b = [f"d{i}" for i in range(batch)]
        m, n, k = f"d{batch}", f"d{batch + 1}", f"d{batch + 2}"
        space = f"({', '.join(b + [m, n, k])})"
        maps = ", ".join(f"affine_map<{space} -> ({', '.join(b + r)})>" for r in ([m, k], [k, n], [m, n]))
        name = self.name()
        self.lines.append(
            f"{name} = fuse.contract {lhs.name}, {rhs.name} maps [{maps}] {NUMERICS.format('any')} "
            f": {tensor(lhs.dims)}, {tensor(rhs.dims)} -> {tensor(dims)}"
        )
        return View(name, dims)

    def text(self, result):
        arguments = ", ".join(f'{v}: {tensor(d)} {{fuse.name = "{n}"}}' for v, n, d in self.arguments)
        body = "\n".join("  " + line for line in self.lines)
        type_ = tensor(result.source_dims)
        return f"func.func @step({arguments}) -> {type_} {{\n{body}\n  return {result.name} : {type_}\n}}\n"
