// RUN: fusec opt %s --split-input-file --verify-diagnostics

// One case per constraint of PlanDialect.td.

// expected-error @+1 {{has a page of 0 positions, expected a positive number}}
plan.program @page page 0 {
}

// -----

plan.program @body page 64 {
  // expected-error @+1 {{only plan.buffer, plan.launch and plan.library_product may stand in a plan.program}}
  %c = arith.constant 0 : i32
}

// -----

plan.program @activation page 64 {
  // expected-error @+1 {{of kind 'activation' needs a slot}}
  %x = plan.buffer activation "x" : !tile.buffer<[4], f32>
}

// -----

plan.program @output page 64 {
  // expected-error @+1 {{of kind 'output' needs a slot}}
  %x = plan.buffer output "x" : !tile.buffer<[4], f32>
}

// -----

plan.program @input page 64 {
  // expected-error @+1 {{of kind 'input' has no slot}}
  %x = plan.buffer input "x" slot 0 : !tile.buffer<[4], f32>
}

// -----

plan.program @weight page 64 {
  // expected-error @+1 {{has parts exactly when it is a weight}}
  %x = plan.buffer weight "x" : !tile.buffer<[4], f32>
}

// -----

plan.program @constant page 64 {
  // expected-error @+1 {{has a value exactly when it is a constant}}
  %x = plan.buffer constant "x" : !tile.buffer<[4], f32>
}

// -----

// expected-error @+1 {{needs at least one variant}}
plan.kernel @none []

// -----

// expected-error @+1 {{variant 0 is not a #plan.variant}}
plan.kernel @other [@k]

// -----

// expected-error @+1 {{variant 0 needs a condition: the variants behind it would never run}}
plan.kernel @first [#plan.variant<@k>, #plan.variant<@k>]

// -----

plan.program @product page 64 {
  %x = plan.buffer activation "x" slot 0 : !tile.buffer<[ragged(T), 16], f32, bf16>
  %w = plan.buffer activation "w" slot 1 : !tile.buffer<[8, 16], f32, f16>
  %y = plan.buffer activation "y" slot 2 : !tile.buffer<[ragged(T), 8], f32>
  // expected-error @+1 {{C1: cannot multiply}}
  plan.library_product %x by %w into %y "p" path <library from 64>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, f16> -> !tile.buffer<[ragged(T), 8], f32>
}

// -----

plan.program @product page 64 {
  %x = plan.buffer activation "x" slot 0 : !tile.buffer<[ragged(T), 16], f32, bf16>
  %w = plan.buffer activation "w" slot 1 : !tile.buffer<[8, 16], f32, bf16>
  %y = plan.buffer activation "y" slot 2 : !tile.buffer<[ragged(T), 16], f32>
  // expected-error @+1 {{C2: the result, or what is added to it, has another type than the product}}
  plan.library_product %x by %w into %y "p" path <library from 64>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, bf16> -> !tile.buffer<[ragged(T), 16], f32>
}

// -----

plan.program @product page 64 {
  %x = plan.buffer activation "x" slot 0 : !tile.buffer<[ragged(T), 16], f32, bf16>
  %w = plan.buffer activation "w" slot 1 : !tile.buffer<[8, 16], f32, bf16>
  %y = plan.buffer activation "y" slot 2 : !tile.buffer<[ragged(T), 8], f32>
  // expected-error @+1 {{C3: is on the path of the kernels}}
  plan.library_product %x by %w into %y "p" path <kernels from 64>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, bf16> -> !tile.buffer<[ragged(T), 8], f32>
}

// -----

plan.program @path page 64 {
  %x = plan.buffer input "x" : !tile.buffer<[4], f32>
  // expected-error @+1 {{a path is for steps from some number of tokens on, found 0}}
  plan.launch @k0(%x) "x" path <kernels from 0> : !tile.buffer<[4], f32>
}
