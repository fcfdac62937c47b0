//===- SentencePieceModel.cpp - reader for tokenizer.model -----------------===//
#include "models/import/SentencePieceModel.h"

#include <bit>
#include <cstring>
#include <string>

namespace fusec::models {

namespace {

enum WireType : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  uint32_t wireType = 0;
  uint64_t value = 0;     ///< Varint, Fixed32, Fixed64.
  std::string_view bytes; ///< Bytes.

  bool flag() const { return value != 0; }
  int64_t integer() const { return static_cast<int64_t>(value); }
  float asFloat() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

/// Walks the fields of one message; `next` returns false at its end.
class MessageReader {
public:
  explicit MessageReader(std::string_view message) : message(message) {}

  Result<bool> next(Field &field) {
    if (at == message.size())
      return false;
    uint64_t key = 0;
    FUSEC_RETURN_IF_ERROR(readVarint(key));
    field = {static_cast<uint32_t>(key >> 3), static_cast<uint32_t>(key & 7), 0, {}};
    switch (field.wireType) {
    case Varint:
      FUSEC_RETURN_IF_ERROR(readVarint(field.value));
      return true;
    case Fixed64:
      FUSEC_RETURN_IF_ERROR(readFixed(field.value, 8));
      return true;
    case Fixed32:
      FUSEC_RETURN_IF_ERROR(readFixed(field.value, 4));
      return true;
    case Bytes:
      FUSEC_RETURN_IF_ERROR(readBytes(field.bytes));
      return true;
    }
    return broken("wire type " + std::to_string(field.wireType) + " is not supported");
  }

private:
  Status broken(const std::string &what) const {
    return corruptData("SentencePiece model: " + what + " at byte " + std::to_string(at) + " of a message of " +
                       std::to_string(message.size()));
  }

  Status readVarint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at == message.size())
        return broken("number cut off");
      auto byte = static_cast<unsigned char>(message[at++]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return {};
    }
    return broken("number longer than 64 bits");
  }

  Status readFixed(uint64_t &value, size_t width) {
    if (message.size() - at < width)
      return broken("number cut off");
    std::memcpy(&value, message.data() + at, width);
    at += width;
    return {};
  }

  Status readBytes(std::string_view &bytes) {
    uint64_t length = 0;
    FUSEC_RETURN_IF_ERROR(readVarint(length));
    if (length > message.size() - at)
      return broken("field of " + std::to_string(length) + " bytes passes the end");
    bytes = message.substr(at, length);
    at += length;
    return {};
  }

  std::string_view message;
  size_t at = 0;
};

/// Calls `visit(field)` for each field of `message`.
template <typename Visit> Status forEachField(std::string_view message, Visit visit) {
  MessageReader reader(message);
  Field field;
  for (;;) {
    FUSEC_ASSIGN_OR_RETURN(bool more, reader.next(field));
    if (!more)
      return {};
    FUSEC_RETURN_IF_ERROR(visit(field));
  }
}

Status readPiece(std::string_view message, SentencePieceModel &model) {
  SentencePieceModel::Piece piece;
  FUSEC_RETURN_IF_ERROR(forEachField(message, [&](const Field &field) -> Status {
    if (field.number == 1 && field.wireType == Bytes)
      piece.text = field.bytes;
    if (field.number == 2 && field.wireType == Fixed32)
      piece.score = field.asFloat();
    if (field.number == 3 && field.wireType == Varint)
      piece.type = field.integer();
    return {};
  }));
  model.pieces.push_back(piece);
  return {};
}

Status readTrainerSpec(std::string_view message, SentencePieceModel &model) {
  return forEachField(message, [&](const Field &field) -> Status {
    if (field.wireType != Varint)
      return {};
    switch (field.number) {
    case 3:
      model.modelType = field.integer();
      break;
    case 24:
      model.whitespaceAsSuffix = field.flag();
      break;
    case 35:
      model.byteFallback = field.flag();
      break;
    case 40:
      model.unknownId = field.integer();
      break;
    case 41:
      model.bosId = field.integer();
      break;
    case 42:
      model.eosId = field.integer();
      break;
    default:
      break;
    }
    return {};
  });
}

Status readNormalizerSpec(std::string_view message, SentencePieceModel &model) {
  return forEachField(message, [&](const Field &field) -> Status {
    if (field.number == 1 && field.wireType == Bytes)
      model.normalizerName = field.bytes;
    if (field.number == 2 && field.wireType == Bytes)
      model.precompiledCharsmap = field.bytes;
    if (field.wireType != Varint)
      return {};
    if (field.number == 3)
      model.addDummyPrefix = field.flag();
    if (field.number == 4)
      model.removeExtraWhitespace = field.flag();
    if (field.number == 5)
      model.escapeWhitespace = field.flag();
    return {};
  });
}

} // namespace

Result<SentencePieceModel> SentencePieceModel::parse(std::span<const std::byte> bytes) {
  SentencePieceModel model;
  std::string_view message(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  FUSEC_RETURN_IF_ERROR(forEachField(message, [&](const Field &field) -> Status {
    if (field.wireType != Bytes)
      return {};
    if (field.number == 1)
      return readPiece(field.bytes, model);
    if (field.number == 2)
      return readTrainerSpec(field.bytes, model);
    if (field.number == 3)
      return readNormalizerSpec(field.bytes, model);
    return {};
  }));
  if (model.pieces.empty())
    return corruptData("SentencePiece model: no pieces");
  return model;
}

} // namespace fusec::models
