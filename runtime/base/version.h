// The version of the whole product. One job runs one version.
#ifndef REIGEN_RUNTIME_BASE_VERSION_H_
#define REIGEN_RUNTIME_BASE_VERSION_H_

namespace reigen {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_VERSION_H_
