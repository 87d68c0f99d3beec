#include "client/cli/reigenctl/query.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "proto/control/control.grpc.pb.h"
#include "proto/control/handshake.h"

namespace reigen::ctl {
namespace {

constexpr std::chrono::seconds kPatience{3};
// The status of thousands of ranks.
constexpr int kMaxMessageBytes = 64 << 20;
constexpr int kNoHost = -1;

using Stream = grpc::ClientReaderWriter<control::InspectRequest, control::InspectReply>;

StatusOr<control::InspectReply> Ask(Stream& stream, const control::InspectRequest& request) {
  control::InspectReply reply;
  if (!stream.Write(request) || !stream.Read(&reply)) {
    const grpc::Status status = stream.Finish();
    return Unavailable("the coordinator does not answer: " + status.error_message());
  }
  if (reply.has_refused()) return Unauthenticated(reply.refused().reason());
  return reply;
}

StatusOr<control::JobStatus> Converse(Stream& stream, const std::string& secret) {
  const std::string role(control::kInspectRole);
  const std::string nonce = control::MakeNonce();
  control::InspectRequest request;
  request.mutable_hello()->set_version(control::kVersion);
  request.mutable_hello()->set_role(role);
  request.mutable_hello()->set_host(kNoHost);
  request.mutable_hello()->set_nonce(nonce);
  REIGEN_ASSIGN_OR_RETURN(const control::InspectReply challenge, Ask(stream, request));
  const std::string& other = challenge.challenge().nonce();
  if (!control::SameMac(challenge.challenge().mac(),
                        control::CoordinatorMac(secret, role, kNoHost, nonce, other))) {
    return Unauthenticated("who answers is not the job's coordinator");
  }
  // The proof has no answer of its own.
  request.mutable_proof()->set_mac(control::ClientMac(secret, role, kNoHost, nonce, other));
  if (!stream.Write(request)) return Unavailable("the coordinator does not answer");
  request.mutable_status();
  REIGEN_ASSIGN_OR_RETURN(const control::InspectReply reply, Ask(stream, request));
  if (!reply.has_status()) return Internal("the coordinator answers something else");
  return reply.status();
}

}  // namespace

StatusOr<control::JobStatus> QueryStatus(const control::StatusFile& job) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  StatusOr<control::JobStatus> status = Unavailable("the job has no address");
  for (const std::string& address : job.addresses()) {
    const auto stub = control::Coordinator::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const std::unique_ptr<Stream> stream = stub->Inspect(&context);
    status = Converse(*stream, job.secret());
    context.TryCancel();
    if (status.ok()) break;
  }
  return status;
}

}  // namespace reigen::ctl
