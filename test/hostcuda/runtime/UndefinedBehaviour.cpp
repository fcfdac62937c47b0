//===- UndefinedBehaviour.cpp - what UndefinedBehaviorSanitizer finds is a fault --===//
//
// Kernels are compiled with -fsanitize=undefined and linked with these functions
// in place of clang's runtime: a finding ends the launch and is the test's error.
// Data layouts: compiler-rt/lib/ubsan/ubsan_handlers.h.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include <cstring>

namespace {

using hostcuda::fault;

struct Place {
  const char *file;
  uint32_t line, column;
};
struct TypeName {
  uint16_t kind, info;
  char name[1];
};
/// The data of every handler begin like this; which of the types there are depends on the handler.
struct Finding {
  Place place;
  const TypeName *type, *second;
};
struct Mismatch {
  Place place;
  const TypeName *type;
  unsigned char logAlignment, check;
};

/// A value of an integer type in a register; longer and other types have no text.
std::string valueText(const TypeName &type, uintptr_t value) {
  if (type.kind != 0 || type.info >> 1 > 6)
    return "?";
  const unsigned bits = 1u << (type.info >> 1), unused = 64 - bits;
  const uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return type.info & 1 ? std::to_string(static_cast<int64_t>(shifted) >> unused) : std::to_string(shifted >> unused);
}

[[noreturn]] void report(const Place &place, const std::string &what) {
  const char *slash = std::strrchr(place.file, '/');
  fault(what + ", " + (slash ? slash + 1 : place.file) + ":" + std::to_string(place.line) + ":" +
        std::to_string(place.column));
}

[[noreturn]] void reportArithmetic(const Finding &f, uintptr_t a, const char *symbol, uintptr_t b) {
  report(f.place, std::string("signed overflow: ") + valueText(*f.type, a) + symbol + valueText(*f.type, b) +
                      " of type " + f.type->name);
}

} // namespace

extern "C" {
void __ubsan_handle_type_mismatch_v1(Mismatch *f, uintptr_t pointer) {
  const uintptr_t alignment = uintptr_t(1) << f->logAlignment;
  if (!pointer)
    report(f->place, std::string("null pointer to ") + f->type->name);
  if (pointer & (alignment - 1))
    report(f->place, std::string("misaligned access: ") + f->type->name + " at an address that is no multiple of " +
                         std::to_string(alignment));
  report(f->place, std::string("array index out of bounds: no room for ") + f->type->name);
}
void __ubsan_handle_add_overflow(Finding *f, uintptr_t a, uintptr_t b) { reportArithmetic(*f, a, " + ", b); }
void __ubsan_handle_sub_overflow(Finding *f, uintptr_t a, uintptr_t b) { reportArithmetic(*f, a, " - ", b); }
void __ubsan_handle_mul_overflow(Finding *f, uintptr_t a, uintptr_t b) { reportArithmetic(*f, a, " * ", b); }
void __ubsan_handle_divrem_overflow(Finding *f, uintptr_t a, uintptr_t b) {
  report(f->place, "division: " + valueText(*f->type, a) + " / " + valueText(*f->type, b));
}
void __ubsan_handle_negate_overflow(Finding *f, uintptr_t a) {
  report(f->place, "signed overflow: -(" + valueText(*f->type, a) + ")");
}
void __ubsan_handle_shift_out_of_bounds(Finding *f, uintptr_t value, uintptr_t by) {
  report(f->place, "shift out of range: " + valueText(*f->type, value) + " by " + valueText(*f->second, by));
}
void __ubsan_handle_out_of_bounds(Finding *f, uintptr_t index) {
  report(f->place, "array index out of bounds: " + valueText(*f->second, index) + " in " + f->type->name);
}
void __ubsan_handle_local_out_of_bounds() {
  fault("array index out of bounds: past a local array", __builtin_return_address(0));
}
void __ubsan_handle_float_cast_overflow(Finding *f, uintptr_t) {
  report(f->place, std::string("conversion: a ") + f->type->name + " that does not fit " + f->second->name);
}
void __ubsan_handle_load_invalid_value(Finding *f, uintptr_t) {
  report(f->place, std::string("a value that is none of ") + f->type->name);
}
void __ubsan_handle_pointer_overflow(Finding *f, uintptr_t, uintptr_t) { report(f->place, "pointer overflow"); }
void __ubsan_handle_builtin_unreachable(Finding *f) { report(f->place, "an unreachable place is reached"); }
void __ubsan_handle_missing_return(Finding *f) { report(f->place, "a function ends without its value"); }
void __ubsan_handle_vla_bound_not_positive(Finding *f, uintptr_t) { report(f->place, "an array of no elements"); }
void __ubsan_handle_invalid_builtin(Finding *f) { report(f->place, "a builtin function of a value it does not take"); }
void __ubsan_handle_nonnull_arg(Finding *f) { report(f->place, "null where it is not allowed"); }
void __ubsan_handle_function_type_mismatch(Finding *f, uintptr_t) { report(f->place, "a call through another type"); }
void __ubsan_handle_alignment_assumption(Finding *f, uintptr_t, uintptr_t, uintptr_t) {
  report(f->place, "misaligned access: an assumed alignment");
}
}
