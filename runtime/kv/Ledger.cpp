//===- Ledger.cpp ------------------------------------------------------------===//

#include "runtime/kv/Ledger.h"

#include <string>

namespace fusec::runtime {

Status Ledger::balance() const {
  auto text = [](int64_t value) { return std::to_string(value); };
  if (live + cached + parked + free + sink != total)
    return internalError("kv ledger: " + text(live) + " live + " + text(cached) + " cached + " + text(parked) +
                         " parked + " + text(free) + " free + " + text(sink) + " sink pages are not the total of " +
                         text(total));
  if (held + tail + reserved != live * pageTokens || held < 0 || tail < 0 || reserved < 0)
    return internalError("kv ledger: " + text(held) + " held + " + text(tail) + " tail + " + text(reserved) +
                         " reserved positions do not fill " + text(live) + " live pages of " + text(pageTokens));
  return {};
}

} // namespace fusec::runtime
