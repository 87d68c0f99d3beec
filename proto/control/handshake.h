// The proof of the job's secret on the streams of control.proto; both sides use
// these functions. The secret itself never travels.
//
//   client                                  coordinator
//   Hello{role, host, nonce c}       ->
//                                    <-     Challenge{nonce s, CoordinatorMac(c, s)}
//   checks it; Proof{ClientMac(c, s)} ->
//                                           checks it
#ifndef REIGEN_PROTO_CONTROL_HANDSHAKE_H_
#define REIGEN_PROTO_CONTROL_HANDSHAKE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace reigen::control {

inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kMacBytes = 32;
inline constexpr std::string_view kWorkerRole = "worker";
inline constexpr std::string_view kInspectRole = "inspect";
// In the coordinator's folder; holds a StatusFile.
inline constexpr char kStatusFileName[] = "status.bin";

std::string MakeNonce();

// role and host are those of the Hello.
std::string CoordinatorMac(std::string_view secret, std::string_view role, int32_t host,
                           std::string_view client_nonce, std::string_view coordinator_nonce);
std::string ClientMac(std::string_view secret, std::string_view role, int32_t host,
                      std::string_view client_nonce, std::string_view coordinator_nonce);

// In constant time; false for any other length.
bool SameMac(std::string_view a, std::string_view b);

}  // namespace reigen::control

#endif  // REIGEN_PROTO_CONTROL_HANDSHAKE_H_
