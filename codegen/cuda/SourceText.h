//===- SourceText.h - indented C++ text ------------------------------------===//
//
// Lines with indentation, and calls that take a lambda, on one line where they
// fit. Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace fusec::codegen::cuda {

/// The parts of a lambda.
struct LambdaText {
  std::vector<std::string> parameters; ///< "int row"; a parameter that the body does not name loses its name.
  std::vector<std::string> statements; ///< Before the result.
  std::string result;                  ///< Returned; empty for a lambda that is all statements.
  bool captures = true;
};

class SourceText {
public:
  explicit SourceText(int depth = 0) : depth(depth) {}

  void line(llvm::StringRef text);
  /// A line that declares `name` and has no other effect: left out if nothing after it names it.
  void declare(llvm::StringRef name, llvm::StringRef text);
  /// A line that ends in a brace; what follows is indented until close().
  void open(llvm::StringRef text);
  /// Ends the innermost block with a line such as "}".
  void close(llvm::StringRef text = "}");
  /// `before`, the lambdas one after the other, `after`.
  void call(llvm::StringRef before, llvm::ArrayRef<LambdaText> lambdas, llvm::StringRef after);
  void indent() { ++depth; }
  void dedent() { --depth; }
  int currentDepth() const { return depth; }
  /// The lines of another text, moved by some levels.
  void append(const SourceText &other, int levels);
  void blank();
  std::string text() const;
  /// All lines without indentation, also declarations that nothing here reads.
  std::vector<std::string> lines() const;

private:
  struct Line {
    int depth;
    std::string text, declares;
  };
  static bool isRead(const Line &declaration, llvm::ArrayRef<Line> later);
  std::vector<Line> used() const;

  int depth;
  std::vector<Line> content;
};

/// True if `name` occurs in `text` as a whole word.
bool mentions(llvm::StringRef text, llvm::StringRef name);

} // namespace fusec::codegen::cuda
