#!/usr/bin/env python3
"""Writes ONNX's own test cases for attention, softmax and normalisation as `fuse` graphs.

    python3 -m venv venv && venv/bin/pip install onnx numpy
    venv/bin/python tools/scripts/make_onnx_goldens.py ONNX/node test/golden/onnx/cases.json

ONNX/node holds the backend's node tests (onnx/backend/test/data/node). Of each `_expanded`
case, where the operator is spelled out in primitive operators, this walks the graph:

1. What depends on shapes alone is evaluated.
2. Layout operators become index maps: they compose into whoever reads them.
3. The rest becomes fuse.map, fuse.reduce and fuse.contract, one op each: matrix products are
   contractions, softmax is max, difference, exponential, sum and quotient, ranges are indices.

Layout operators behind the last computation are applied backwards to the expected output. Booleans and integers are
carried as f32 of small whole numbers, f16 as f32 that is rounded to f16 after every operator. What cannot be written is listed with the reason.
"""
import base64
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from onnx_graph import Graph, literal
from onnx_views import Index, View, modulo

FAMILIES = r"^test_(attention|flexattention|softmax|logsoftmax|layer_normalization|rms_normalization)_.*expanded"


class NotExpressible(Exception):
    pass


# --------------------------------------------------------------------------
# Operators
# --------------------------------------------------------------------------

BINARY = {"Add": "arith.addf", "Sub": "arith.subf", "Mul": "arith.mulf", "Div": "arith.divf"}
UNARY = {"Sqrt": "math.sqrt", "Exp": "math.exp", "Log": "math.log", "Tanh": "math.tanh", "Neg": "arith.negf"}
COMPARE = {"Less": "olt", "Greater": "ogt", "GreaterOrEqual": "oge", "LessOrEqual": "ole", "Equal": "oeq"}
LAYOUT = ("Identity", "Reshape", "Flatten", "Unsqueeze", "Squeeze", "Transpose", "Expand", "Slice", "Concat", "Pad", "Where")
REDUCTIONS = ("ReduceMax", "ReduceMean", "ReduceSum")
CARRIED = (np.float32, np.float16, np.bool_, np.int64, np.int32)
ROUNDING = ["%h = arith.truncf %i0 : f32 to f16", "%r = arith.extf %h : f16 to f32"]


class Walker:
    def __init__(self, model):
        self.model, self.graph = model, Graph()
        self.values = {}  # name -> numpy array (known from shapes alone) or View
        self.counting = set()  # known values that a Range made: written as indices, not as constants
        self.opset = max((o.version for o in model.opset_import if o.domain == ""), default=1)
        self.products = self.sums = 0
        inferred = onnx.shape_inference.infer_shapes(model).graph
        self.half = {v.name for v in [*inferred.input, *inferred.value_info, *inferred.output]
                     if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
        self.longest = 1

    # Values ---------------------------------------------------------------

    def known(self, name):
        return name == "" or isinstance(self.values.get(name), np.ndarray)

    def dims(self, name):
        v = self.values[name]
        return list(v.shape) if isinstance(v, np.ndarray) else v.dims

    def as_view(self, value):
        if not isinstance(value, np.ndarray):
            return value
        return self.progression(value) or self.graph.constant(np.asarray(value, dtype=np.float32))

    def progression(self, array):
        """start + sum of step[d] * index[d] as a map of indices, when the whole numbers are one."""
        if array.dtype != np.int64 or array.size < 2:
            return None
        start = int(array.reshape(-1)[0])
        steps = [int(np.diff(array, axis=d).reshape(-1)[0]) if n > 1 else 0 for d, n in enumerate(array.shape)]
        if not (array == start + sum(s * i for s, i in zip(steps, np.indices(array.shape)))).all():
            return None
        body = [f"%s0 = arith.constant {start} : i32"]
        for d, s in enumerate(steps):
            body += [f"%x{d} = fuse.index {d}", f"%m{d} = arith.constant {s} : i32"]
            body += [f"%y{d} = arith.muli %x{d}, %m{d} : i32", f"%s{d + 1} = arith.addi %s{d}, %y{d} : i32"]
        return self.graph.map(list(array.shape), [], body + [f"%r = arith.sitofp %s{len(steps)} : i32 to f32"])

    def view(self, name):
        return self.as_view(self.values[name])

    # Elementwise ----------------------------------------------------------

    def elementwise(self, names, body):
        """One map; known uniform operands become constants inside it. body(operands) gives lines.

        After a sum the map walks along what was summed, as a kernel of rows does.
        """
        values = [self.values[n] for n in names]
        dims = list(np.broadcast_shapes(*[tuple(self.dims(n)) for n in names]))
        inputs, operands, lines = [], [], []
        for value in values:
            if isinstance(value, np.ndarray) and value.size and (value == value.reshape(-1)[0]).all():
                operands.append(f"%c{len(lines)}")
                lines.append(f"%c{len(lines)} = arith.constant {literal(float(value.reshape(-1)[0]))} : f32")
                continue
            operands.append(f"%i{len(inputs)}")
            inputs.append(self.as_view(value))
        summed = next((v.summed for v in inputs if v.summed and len(v.dims) == len(dims)), None)
        if summed is None:
            return self.graph.map(dims, inputs, lines + body(operands))
        turned = [self.rows(v.broadcast(dims), summed)[0] for v in inputs]
        out = self.graph.map(turned[0].dims, turned, lines + body(operands))
        return self.turned_back(out, dims, summed)

    def turned_back(self, value, dims, axes):
        """A value over (kept.., merged axes) as one over `dims`."""
        kept = [Index.dim(i) for i in range(len(dims)) if i not in axes]
        last, stride = Index(), 1
        for a in reversed(axes):
            last = last.plus(Index.dim(a).times(stride))
            stride *= dims[a]
        out = value.through(dims, kept + [last])
        out.summed = axes
        return out

    def op_binary(self, node):
        return self.elementwise(node.input, lambda o: [f"%r = {BINARY[node.op_type]} {o[0]}, {o[1]} : f32"])

    def op_unary(self, node):
        return self.elementwise(node.input, lambda o: [f"%r = {UNARY[node.op_type]} {o[0]} : f32"])

    def op_compare(self, node):
        return self.elementwise(node.input, lambda o: truth(f"arith.cmpf {COMPARE[node.op_type]}, {o[0]}, {o[1]} : f32"))

    def op_Reciprocal(self, node):
        return self.elementwise(node.input, lambda o: [f"%u = arith.constant 1.0 : f32", f"%r = arith.divf %u, {o[0]} : f32"])

    def op_Not(self, node):
        return self.elementwise(node.input, lambda o: [f"%u = arith.constant 1.0 : f32", f"%r = arith.subf %u, {o[0]} : f32"])

    def op_And(self, node):
        return self.elementwise(node.input, lambda o: [f"%r = arith.mulf {o[0]}, {o[1]} : f32"])

    def op_Where(self, node):
        if self.known(node.input[0]):  # a choice between tensors that is known
            condition = self.values[node.input[0]]
            if condition.size and (condition == condition.reshape(-1)[0]).all():
                chosen = node.input[1] if condition.reshape(-1)[0] else node.input[2]
                dims = list(np.broadcast_shapes(*[tuple(self.dims(n)) for n in node.input]))
                return self.view(chosen).broadcast(dims)
        return self.elementwise(
            node.input,
            lambda o: [
                "%z = arith.constant 0.0 : f32",
                f"%t = arith.cmpf une, {o[0]}, %z : f32",
                f"%r = arith.select %t, {o[1]}, {o[2]} : f32",
            ],
        )

    def op_Cast(self, node):
        to = attribute(node, "to")
        if to not in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64, onnx.TensorProto.BOOL):
            raise NotExpressible(f"a cast to {onnx.TensorProto.DataType.Name(to)} of data")
        return self.values[node.input[0]]

    def op_CastLike(self, node):
        return self.values[node.input[0]]

    # Layout ---------------------------------------------------------------

    def op_Identity(self, node):
        return self.values[node.input[0]]

    def op_Reshape(self, node):
        view, target = self.view(node.input[0]), [int(d) for d in self.values[node.input[1]]]
        target = [view.dims[i] if d == 0 else d for i, d in enumerate(target)]
        size = math.prod(view.dims)
        if -1 in target:
            target[target.index(-1)] = size // -math.prod(target)
        return view.reshaped(target)

    def op_Flatten(self, node):
        view, axis = self.view(node.input[0]), attribute(node, "axis", 1)
        axis += len(view.dims) if axis < 0 else 0
        return view.reshaped([math.prod(view.dims[:axis]), math.prod(view.dims[axis:])])

    def op_Unsqueeze(self, node):
        view = self.view(node.input[0])
        axes = self.axes(node)
        rank = len(view.dims) + len(axes)
        axes = {a % rank for a in axes}
        rest = iter(view.dims)
        return view.reshaped([1 if i in axes else next(rest) for i in range(rank)])

    def op_Squeeze(self, node):
        view, axes = self.view(node.input[0]), self.axes(node)
        axes = {a % len(view.dims) for a in axes} if axes else {i for i, d in enumerate(view.dims) if d == 1}
        return view.reshaped([d for i, d in enumerate(view.dims) if i not in axes])

    def op_Transpose(self, node):
        view, perm = self.view(node.input[0]), attribute(node, "perm")
        by = [None] * len(perm)
        for i, p in enumerate(perm):
            by[p] = Index.dim(i)
        return view.through([view.dims[p] for p in perm], by)

    def op_Expand(self, node):
        view = self.view(node.input[0])
        return view.broadcast(list(np.broadcast_shapes(tuple(view.dims), tuple(int(d) for d in self.values[node.input[1]]))))

    def op_Slice(self, node):
        view = self.view(node.input[0])
        starts, ends = self.values[node.input[1]], self.values[node.input[2]]
        axes = self.values[node.input[3]] if len(node.input) > 3 and node.input[3] else np.arange(len(starts))
        if len(node.input) > 4 and node.input[4] and (self.values[node.input[4]] != 1).any():
            raise NotExpressible("a slice with steps")
        dims, by = list(view.dims), [Index.dim(i) for i in range(len(view.dims))]
        for start, end, axis in zip(starts, ends, axes):
            n = view.dims[axis]
            first, last = (min(max(int(v) + (n if v < 0 else 0), 0), n) for v in (start, end))
            dims[axis], by[axis] = last - first, Index.dim(axis).plus(Index([], first))
        return view.through(dims, by)

    def op_Concat(self, node):
        """One map that reads every part at a wrapped index and selects."""
        parts = [self.view(n) for n in node.input if 0 not in self.dims(n)]
        axis = attribute(node, "axis") % len(parts[0].dims)
        if len(parts) == 1:
            return parts[0]
        dims, inputs, body, start = list(parts[0].dims), [], [f"%x = fuse.index {axis}"], 0
        dims[axis] = sum(p.dims[axis] for p in parts)
        for i, part in enumerate(parts):
            n = part.dims[axis]
            by = [Index.dim(d) for d in range(len(dims))]
            by[axis] = modulo(Index.dim(axis).plus(Index([], -start % n)), n, dims)
            inputs.append(part.through(dims, by))
            if i:
                body += [
                    f"%e{i} = arith.constant {start} : i32",
                    f"%t{i} = arith.cmpi sge, %x, %e{i} : i32",
                    f"%s{i} = arith.select %t{i}, %i{i}, {'%s' + str(i - 1) if i > 1 else '%i0'} : f32",
                ]
            start += n
        body[-1] = re.sub(r"^%s\d+", "%r", body[-1])
        return self.graph.map(dims, inputs, body)

    def op_Pad(self, node):
        view, pads = self.view(node.input[0]), [int(p) for p in self.values[node.input[1]]]
        value = float(self.values[node.input[2]].reshape(-1)[0]) if len(node.input) > 2 and node.input[2] else 0.0
        axes = [int(a) for a in self.values[node.input[3]]] if len(node.input) > 3 and node.input[3] else range(len(view.dims))
        if any(pads[: len(pads) // 2]) or any(p < 0 for p in pads):
            raise NotExpressible("padding in front")
        dims, by = list(view.dims), [Index.dim(i) for i in range(len(view.dims))]
        body = [f"%w = arith.constant {literal(value)} : f32"]
        last = "%i0"
        for axis, more in zip(axes, pads[len(pads) // 2 :]):
            if not more:
                continue
            axis %= len(view.dims)
            n = view.dims[axis]
            dims[axis] = n + more
            by[axis] = ("mod", axis, n)
            body += [
                f"%x{axis} = fuse.index {axis}",
                f"%e{axis} = arith.constant {n} : i32",
                f"%t{axis} = arith.cmpi slt, %x{axis}, %e{axis} : i32",
                f"%s{axis} = arith.select %t{axis}, {last}, %w : f32",
            ]
            last = f"%s{axis}"
        if last == "%i0":
            return view
        by = [modulo(Index.dim(b[1]), b[2], dims) if isinstance(b, tuple) else b for b in by]
        body[-1] = body[-1].replace(last + " =", "%r =", 1)
        return self.graph.map(dims, [view.through(dims, by)], body)

    # Sums -----------------------------------------------------------------

    def axes(self, node):
        axes = attribute(node, "axes")
        if axes is None and len(node.input) > 1 and node.input[1]:
            axes = [int(a) for a in np.asarray(self.values[node.input[1]]).reshape(-1)]
        return axes

    def rows(self, view, axes):
        """The view with `axes` merged into one last dimension, and how to put them back as ones."""
        rank = len(view.dims)
        axes = sorted(a % rank for a in axes) if axes else list(range(rank))
        kept = [i for i in range(rank) if i not in axes]
        order = kept + axes
        by = [None] * rank
        for i, p in enumerate(order):
            by[p] = Index.dim(i)
        turned = view.through([view.dims[p] for p in order], by)
        merged = [view.dims[i] for i in kept] + [math.prod(view.dims[i] for i in axes)]
        self.sums = max(self.sums, merged[-1])
        return turned.reshaped(merged), [1 if i in axes else view.dims[i] for i in range(rank)]

    def op_reduce(self, node):
        view = self.view(node.input[0])
        rows, ones = self.rows(view, self.axes(node))
        n = rows.dims[-1]
        if node.op_type == "ReduceMax":
            out = self.graph.reduce(rows, "arith.maximumf", -math.inf)
        else:
            out = self.graph.reduce(rows, "arith.addf", 0.0)
        if node.op_type == "ReduceMean":
            out = self.graph.map(
                out.dims, [out], [f"%n = arith.constant {literal(n)} : f32", "%r = arith.divf %i0, %n : f32"]
            )
        keep = attribute(node, "keepdims", 1)
        if not keep:
            return out
        out = out.reshaped(ones)
        axes = self.axes(node)
        rank = len(view.dims)
        out.summed = sorted(a % rank for a in axes) if axes else list(range(rank))
        return out

    def op_Softmax(self, node):
        """A row of nothing but -inf gives zeros: every case replaces what ONNX leaves open there."""
        view, axis = self.view(node.input[0]), attribute(node, "axis", -1)
        if self.opset < 13:
            raise NotExpressible("softmax before opset 13")
        rows, _ = self.rows(view, [axis])
        g, dims, lead = self.graph, rows.dims, [Index.dim(i) for i in range(len(rows.dims) - 1)]
        rows = g.plain(rows)
        spread = lambda v: v.through(dims, lead)
        minus, zero = "%n = arith.constant 0xFF800000 : f32", "%z = arith.constant 0.0 : f32"
        m = g.reduce(rows, "arith.maximumf", -math.inf)
        e = g.map(
            dims,
            [rows, spread(m)],
            [minus, zero, "%d = arith.subf %i0, %i1 : f32", "%e = math.exp %d : f32"]
            + ["%t = arith.cmpf oeq, %i1, %n : f32", "%r = arith.select %t, %z, %e : f32"],
        )
        l = g.reduce(e, "arith.addf", 0.0)
        p = g.map(
            dims,
            [e, spread(l)],
            [zero, "%q = arith.divf %i0, %i1 : f32", "%t = arith.cmpf oeq, %i1, %z : f32"]
            + ["%r = arith.select %t, %z, %q : f32"],
        )
        return self.turned_back(p, view.dims, [axis % len(view.dims)])

    def op_MatMul(self, node):
        lhs, rhs = self.view(node.input[0]), self.view(node.input[1])
        if len(lhs.dims) < 2 or len(rhs.dims) < 2:
            raise NotExpressible("a product of vectors")
        batch = list(np.broadcast_shapes(tuple(lhs.dims[:-2]), tuple(rhs.dims[:-2])))
        self.products += 1
        self.longest = max(self.longest, lhs.dims[-1])
        return self.graph.contract(
            lhs.broadcast(batch + lhs.dims[-2:]),
            rhs.broadcast(batch + rhs.dims[-2:]),
            batch + [lhs.dims[-2], rhs.dims[-1]],
            len(batch),
        )

    # Walk -----------------------------------------------------------------

    def handler(self, op_type):
        for table, handler in ((BINARY, self.op_binary), (UNARY, self.op_unary), (COMPARE, self.op_compare)):
            if op_type in table:
                return handler
        return self.op_reduce if op_type in REDUCTIONS else getattr(self, "op_" + op_type, None)

    def step(self, node):
        if node.op_type == "Shape":
            dims = self.dims(node.input[0])
            return np.array(dims[slice(attribute(node, "start", 0), attribute(node, "end"))], dtype=np.int64)
        if node.op_type == "Size":
            return np.array(math.prod(self.dims(node.input[0])), dtype=np.int64)
        counts = node.op_type == "Range" or any(i in self.counting for i in node.input)
        if all(self.known(i) for i in node.input) and not (counts and node.op_type in COMPARE):
            if counts:
                self.counting.add(node.output[0])
            return self.evaluate(node)
        handler = self.handler(node.op_type)
        if handler is None:
            raise NotExpressible(f"operator {node.op_type} of data")
        return self.rounded(node, handler(node))

    def rounded(self, node, value):
        """What an operator computes in f16 is rounded to it."""
        layout = node.op_type in LAYOUT or (node.op_type in ("Cast", "CastLike") and node.input[0] in self.half)
        if node.output[0] not in self.half or layout or not isinstance(value, View):
            return value
        out = self.graph.map(value.source_dims, [View(value.name, value.source_dims)], ROUNDING)
        result = View(out.name, value.source_dims, value.dims, value.index)
        result.summed = value.summed
        return result

    def evaluate(self, node):
        inputs = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(self.values[n].dtype), None)
                  for n in dict.fromkeys(node.input) if n]
        outputs = [onnx.helper.make_empty_tensor_value_info(node.output[0])]
        graph = onnx.helper.make_graph([node], "one", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=self.model.opset_import)
        return np.asarray(ReferenceEvaluator(model).run(None, {n: self.values[n] for n in node.input if n})[0])

    def run(self, feeds):
        for info in self.model.graph.input:
            if info.name not in feeds:
                continue
            array = feeds[info.name]
            if array.dtype not in CARRIED:
                raise NotExpressible(f"input {info.name} is {array.dtype}")
            if array.size == 0:
                self.values[info.name] = array
                continue
            self.values[info.name] = self.graph.argument(info.name, array.shape)
        for initializer in self.model.graph.initializer:
            self.values[initializer.name] = numpy_helper.to_array(initializer)
        for node in self.model.graph.node:
            self.values[node.output[0]] = self.step(node)


def attribute(node, name, default=None):
    for a in node.attribute:
        if a.name == name:
            return onnx.helper.get_attribute_value(a)
    return default


def truth(comparison):
    return [
        "%o = arith.constant 1.0 : f32",
        "%z = arith.constant 0.0 : f32",
        f"%t = {comparison}",
        "%r = arith.select %t, %o, %z : f32",
    ]


# --------------------------------------------------------------------------
# Cases
# --------------------------------------------------------------------------


def load(folder, kind, infos):
    arrays = {}
    for i, info in enumerate(infos):
        path = folder / "test_data_set_0" / f"{kind}_{i}.pb"
        if path.exists():
            proto = onnx.TensorProto()
            proto.ParseFromString(path.read_bytes())
            arrays[info.name] = numpy_helper.to_array(proto)
    return arrays


def backwards(view, expected):
    """The expected output as the computed tensor lies: every element of it exactly once."""
    source = np.full(view.source_dims, np.nan, dtype=np.float64)
    seen = np.zeros(view.source_dims, dtype=np.int64)
    for point in np.ndindex(*view.dims):
        at = tuple(e.at(point) for e in view.index)
        source[at] = expected[point]
        seen[at] += 1
    if (seen != 1).any():
        raise NotExpressible("the output repeats or drops elements of what is computed last")
    return source


def encode(array):
    return base64.b64encode(np.asarray(array).astype("<f4").tobytes()).decode()


def convert(folder):
    model = onnx.load(folder / "model.onnx")
    feeds = load(folder, "input", model.graph.input)
    expected = load(folder, "output", model.graph.output)
    walker = Walker(model)
    walker.run(feeds)
    name = model.graph.output[0].name
    result = walker.values[name]
    if isinstance(result, np.ndarray) or result.name.startswith("%a"):
        raise NotExpressible("nothing is computed")
    if list(expected[name].shape) != result.dims:
        raise AssertionError(f"{folder.name}: shape {result.dims}, expected {expected[name].shape}")
    return {
        "name": re.sub(r"^test_", "", folder.name),
        "family": "attention" if walker.products > 1 else "norm" if "norm" in folder.name else "softmax",
        "inputs": [{"name": n, "shape": d, "values": encode(feeds[n])} for _, n, d in walker.graph.arguments],
        "shape": result.source_dims,
        "expected": encode(backwards(result, expected[name])),
        "summed": max(walker.longest, walker.sums),
        "half": bool(walker.half),
        "graph": walker.graph.text(result),
    }


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    cases, refused = [], []
    for folder in sorted(source.iterdir()):
        if not re.match(FAMILIES, folder.name):
            continue
        try:
            cases.append(convert(folder))
        except NotExpressible as reason:
            refused.append({"name": re.sub(r"^test_", "", folder.name), "reason": str(reason)})
    rows = ",\n".join(json.dumps(c) for c in cases)
    lost = ",\n".join(json.dumps(r) for r in refused)
    target.write_text(f'{{"cases": [\n{rows}\n], "not_expressible": [\n{lost}\n]}}\n')
    print(f"{len(cases)} cases, {len(refused)} not expressible, {target.stat().st_size} bytes")
    for r in refused:
        print(f"  {r['name']}: {r['reason']}")


if __name__ == "__main__":
    main()
