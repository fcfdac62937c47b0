// RUN: fusec opt %s --split-input-file --verify-diagnostics

// One case per constraint of PlanDialect.td.

// expected-error @+1 {{has a page of 0 positions, expected a positive number}}
plan.program @page page 0 {
}

// -----

plan.program @body page 64 {
  // expected-error @+1 {{only plan.buffer and plan.launch may stand in a plan.program}}
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
