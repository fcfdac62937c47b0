//===- VirtualRun.cpp - runs PTX in tests ------------------------------------===//

#include "VirtualRun.h"

namespace fusec::virtualgpu {

VirtualRun::VirtualRun(const VirtualOptions &options) {
  VirtualOptions small = options;
  small.memoryBytes = int64_t(256) << 20;
  Result<std::unique_ptr<VirtualDevice>> made = VirtualDevice::create(small);
  if (!made) {
    ADD_FAILURE() << made.status().message();
    std::abort();
  }
  device = std::move(*made);
  stream = std::move(*device->createStream());
}

Status VirtualRun::load(std::string_view ptx) {
  Result<std::unique_ptr<runtime::GpuModule>> made =
      device->loadModule(std::as_bytes(std::span(ptx.data(), ptx.size())), "test");
  if (!made)
    return made.status();
  module = std::move(*made);
  return {};
}

Status VirtualRun::launch(const std::string &kernel, const Shape &shape) {
  FUSEC_ASSIGN_OR_RETURN(runtime::GpuFunction * function, module->function(kernel));
  runtime::GpuLaunch launch;
  launch.function = function;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.sharedBytes = shape.sharedBytes;
  launch.parameters = shape.parameters;
  FUSEC_RETURN_IF_ERROR(stream->launch(launch));
  return stream->synchronize();
}

uint64_t VirtualRun::reserve(int64_t bytes, std::string_view owner) {
  Result<runtime::GpuBuffer> made = device->allocate(bytes, owner);
  if (!made) {
    ADD_FAILURE() << made.status().message();
    return 0;
  }
  buffers.push_back(std::move(*made));
  return buffers.back().address();
}

std::string kernelText(int parameters, std::string_view body, std::string_view attributes,
                       std::string_view declarations, std::string_view target) {
  std::string text = ".version 9.0\n.target " + std::string(target) + "\n.address_size 64\n" +
                     std::string(declarations) + "\n.visible .entry k(";
  for (int i = 0; i < parameters; ++i)
    text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  text += ")\n" + std::string(attributes) +
          "\n{\n.reg .pred %p<20>;\n.reg .b16 %h<100>;\n.reg .b32 %r<100>;\n.reg .f32 %f<100>;\n"
          ".reg .b64 %rd<100>;\n.reg .f64 %fd<10>;\n";
  for (int i = 0; i < parameters; ++i)
    text += "ld.param.u64 %rd" + std::to_string(90 + i) + ", [p" + std::to_string(i) + "];\n";
  return text + std::string(body) + "\nret;\n}\n";
}

} // namespace fusec::virtualgpu
