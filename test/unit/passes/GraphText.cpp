//===- GraphText.cpp - writes the text of a fuse graph ------------------------===//
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <cstdio>

namespace fusec::differential {

std::string Node::type() const {
  return "!fuse.tensor<[" + dims + "], " + element + (storage.empty() ? "" : ", " + storage) + ">";
}

std::string affine(const std::string &map) { return "affine_map<" + map + ">"; }

std::string identityMap(int rank) {
  std::string dims;
  for (int d = 0; d < rank; ++d)
    dims += (d ? ", d" : "d") + std::to_string(d);
  return "(" + dims + ") -> (" + dims + ")";
}

Node GraphText::add(const std::string &text, const std::string &dims, const std::string &element,
                    const std::string &storage) {
  Node node{"%v" + std::to_string(next++), dims, element, storage};
  body += "  " + node.name + " = " + text + "\n";
  return node;
}

Node GraphText::argument(const std::string &name, const std::string &dims, const std::string &element,
                         const std::string &storage) {
  Node node{"%arg_" + std::to_string(next++), dims, element, storage};
  arguments += (arguments.empty() ? "" : ", ") + node.name + ": " + node.type() + " {fuse.name = \"" + name + "\"}";
  return node;
}

Node GraphText::weight(const std::string &name, const std::string &dims, const std::string &storage) {
  Node type{"", dims, "f32", storage};
  return add("fuse.weight [\"" + name + "\"] : " + type.type(), dims, "f32", storage);
}

Node GraphText::frequencies(int64_t pairs, double base) {
  std::string values;
  for (int64_t i = 0; i < pairs; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17e", std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
    values += (i ? ", " : "") + std::string(text);
  }
  const std::string n = std::to_string(pairs);
  return add("fuse.constant \"frequencies\" dense<[" + values + "]> : tensor<" + n + "xf64> -> !fuse.tensor<[" + n +
                 "], f64>",
             n, "f64");
}

Node GraphText::linear(const Node &x, const Node &w, const std::string &dims) {
  return add("fuse.linear " + x.name + ", " + w.name + " : " + x.type() + ", " + w.type() + " -> " +
                 Node{"", dims}.type(),
             dims);
}

Node GraphText::linear(const Node &x, const Node &w, const Node &bias, const std::string &dims) {
  return add("fuse.linear " + x.name + ", " + w.name + " bias " + bias.name + " : " + bias.type() + " : " + x.type() +
                 ", " + w.type() + " -> " + Node{"", dims}.type(),
             dims);
}

Node GraphText::contract(const Node &lhs, const Node &rhs, const std::vector<std::string> &maps,
                         const std::string &dims, const std::string &order) {
  return add("fuse.contract " + lhs.name + ", " + rhs.name + " maps [" + affine(maps[0]) + ", " + affine(maps[1]) +
                 ", " + affine(maps[2]) + "] numerics <accumulate = f32, order = " + order +
                 ", empty = identity> : " + lhs.type() + ", " + rhs.type() + " -> " + Node{"", dims}.type(),
             dims);
}

Node GraphText::rmsNorm(const Node &x, const Node &w, const std::string &epsilon) {
  return add("fuse.rms_norm " + x.name + ", " + w.name + " epsilon " + epsilon + " : " + x.type() + ", " + w.type() +
                 " -> " + x.type(),
             x.dims);
}

Node GraphText::swiglu(const Node &gate, const Node &up) {
  return add("fuse.swiglu " + gate.name + ", " + up.name + " : " + gate.type(), gate.dims);
}

Node GraphText::softmax(const Node &x) {
  return add("fuse.softmax " + x.name + " : " + x.type() + " -> " + x.type(), x.dims);
}

Node GraphText::rope(const Node &x, const Node &positions, const Node &table, const std::string &pairing) {
  return add("fuse.rope " + x.name + ", " + positions.name + ", " + table.name + " " + pairing + " : " + x.type() +
                 ", " + positions.type() + ", " + table.type() + " -> " + x.type(),
             x.dims);
}

Node GraphText::gather(const Node &table, const Node &indices, const std::string &dims) {
  return add("fuse.gather " + table.name + "[" + indices.name + "] : " + table.type() + ", " + indices.type() + " -> " +
                 Node{"", dims}.type(),
             dims);
}

Node GraphText::append(const Node &values, const Node &cache, const Node &sequences, const Node &positions) {
  return add("fuse.kv_append " + values.name + " into " + cache.name + "[" + sequences.name + ", " + positions.name +
                 "] : " + values.type() + ", " + cache.type() + ", " + sequences.type() + ", " + positions.type(),
             cache.dims, cache.element, cache.storage);
}

Node GraphText::attention(const Node &q, const Node &k, const Node &v, const Node &positions, const Node &sequences,
                          const std::string &scale, int64_t window, const std::string &dims) {
  return add("fuse.attention " + q.name + ", " + k.name + ", " + v.name + ", " + positions.name + ", " +
                 sequences.name + " scale " + scale + (window > 0 ? " window " + std::to_string(window) : "") + " : " +
                 q.type() + ", " + k.type() + ", " + v.type() + ", " + positions.type() + ", " + sequences.type() +
                 " -> " + Node{"", dims}.type(),
             dims);
}

Node GraphText::view(const Node &x, const std::string &map, const std::string &dims) {
  return add("fuse.view " + x.name + " map " + affine(map) + " : " + x.type() + " -> " +
                 Node{"", dims, x.element}.type(),
             dims, x.element);
}

Node GraphText::reshape(const Node &x, const std::string &dims) {
  return add("fuse.reshape " + x.name + " : " + x.type() + " -> " + Node{"", dims}.type(), dims);
}

Node GraphText::map(const std::vector<Node> &inputs, const std::vector<std::string> &maps, const std::string &dims,
                    const std::string &computation, const std::string &element) {
  std::string names, types, affines, parameters;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string comma = i ? ", " : "";
    names += comma + inputs[i].name;
    types += comma + inputs[i].type();
    affines += comma + affine(maps[i]);
    parameters += comma + "%" + std::string(1, static_cast<char>('a' + i)) + ": " + inputs[i].element;
  }
  return add("fuse.map(" + names + (inputs.empty() ? "" : " : ") + types + ") maps [" + affines + "] -> " +
                 Node{"", dims, element}.type() + " {\n  ^bb0" + (inputs.empty() ? "" : "(" + parameters + ")") +
                 ":\n" + computation + "    fuse.yield %r : " + element + "\n  }",
             dims, element);
}

Node GraphText::reduce(const Node &x, int rank, const std::string &combine, const std::string &init,
                       const std::string &dims, const std::string &order) {
  return add("fuse.reduce(" + x.name + " : " + x.type() + ") over [" + std::to_string(rank - 1) + "] init [" + init +
                 " : f32] numerics <accumulate = f32, order = " + order + ", empty = identity> -> " +
                 Node{"", dims}.type() + " combine {\n  ^bb0(%p: f32, %q: f32):\n    %r = " + combine +
                 " %p, %q : f32\n    fuse.yield %r : f32\n  } repair {}",
             dims);
}

Node GraphText::argmax(const Node &x, int rank, const std::string &dims) {
  const std::string last = std::to_string(rank - 1);
  Node index = map({}, {}, x.dims, "    %j = fuse.index " + last + "\n    %r = arith.sitofp %j : i32 to f32\n");
  const std::string types = Node{"", dims}.type(), name = "%v" + std::to_string(next++);
  body += "  " + name + ":2 = fuse.reduce(" + x.name + ", " + index.name + " : " + x.type() + ", " + index.type() +
          ") over [" + last + "] init [0xFF800000 : f32, 3.0e8 : f32] numerics <accumulate = f32, order = any, " +
          "empty = identity> -> " + types + ", " + types + R"( combine {
  ^bb0(%m: f32, %i: f32, %x: f32, %j: f32):
    %larger = arith.cmpf ogt, %x, %m : f32
    %same = arith.cmpf oeq, %x, %m : f32
    %before = arith.cmpf olt, %j, %i : f32
    %first = arith.andi %same, %before : i1
    %wins = arith.ori %larger, %first : i1
    %value = arith.select %wins, %x, %m : f32
    %place = arith.select %wins, %j, %i : f32
    fuse.yield %value, %place : f32, f32
  } repair {}
)";
  return {name + "#1", dims};
}

std::string GraphText::finish(const Node &result) const {
  return "func.func @step(" + arguments + ") -> " + result.type() + " {\n" + body + "  return " + result.name + " : " +
         result.type() + "\n}\n";
}

} // namespace fusec::differential
