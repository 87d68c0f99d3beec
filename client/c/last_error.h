// The text behind reigen_last_error: one per thread, of fixed size, so that it
// can also be set when memory has run out.
#ifndef REIGEN_CLIENT_C_LAST_ERROR_H_
#define REIGEN_CLIENT_C_LAST_ERROR_H_

#include <string_view>

namespace reigen::sdk {

// Cut to what fits. Of the calling thread.
void SetLastError(std::string_view text);
const char* LastError();

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_LAST_ERROR_H_
