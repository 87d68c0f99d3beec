// Decides what the launcher does about its job: who is up, who was lost, when all
// must end and with which code. Pure: events in, actions out, time as a parameter.
//
//   running --verdict of the coordinator, or the launcher's own (*)--> ending
//   ending  --every host and the coordinator have closed, or too late--> finished
//
//   (*) the coordinator is lost or silent (72), or does not answer within `answer` what
//       it was told: a lost host (71), a signal (128 + n)
//
// Threads: one owner.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_JOB_WATCH_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_JOB_WATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"

namespace reigen::run {

inline constexpr int kCodeHostLost = 71;
inline constexpr int kCodeCoordinatorLost = 72;

struct Action {
  enum class Kind {
    kTellHostLost,      // the coordinator: host, text, code
    kTellInterrupt,     // the coordinator: code = signal
    kStopHost,          // its guard: end your tree (hurry: at once); text = reason
    kWakeHost,          // its guard or remote shell here: SIGCONT
    kKillHost,          // its guard or remote shell here: SIGKILL
    kCloseCoordinator,  // close its stdin
    kKillCoordinator,
  };
  Kind kind;
  int host = -1;
  std::string text{};
  int code = 0;
  bool hurry = false;
};
using Actions = std::vector<Action>;

class JobWatch {
 public:
  struct Limits {
    Duration start = seconds(30);
    Duration answer = seconds(2);  // of the coordinator, to what it is told
    Duration silence = seconds(8);  // of the coordinator, which shows life every second
    // Of a guard, which shows life twice a second. Nothing of the job waits for it: a remote
    // shell that stalls for a while loses no host.
    Duration guard_silence = seconds(10);
    Duration stop = seconds(4);    // after the verdict: guards are told to stop
    Duration kill = seconds(9);    // after the verdict: whatever is left here is killed
    static Limits Scaled(double scale, const launch::JobOptions& scaled_already);
  };

  JobWatch(std::vector<std::string> host_names, Limits limits, Time now);

  // Any message of it.
  void OnCoordinatorAlive(Time now);
  Actions OnHostReady(int host);
  // Any message of its guard; or none is read now, and its silence means nothing.
  void OnHostAlive(int host, Time now);
  // The guard says that its worker died or stopped. `last_words`: what the remote
  // shell or the daemons there said last on stderr.
  Actions OnHostLost(int host, const std::string& reason, const std::string& last_words, Time now);
  Actions OnHostDone(int host, const launch::GuardDone& done, Time now);
  // The guard, or the remote shell to it, has ended: "exit 255".
  Actions OnHostClosed(int host, const std::string& how, const std::string& last_words, Time now);
  Actions OnVerdict(const launch::Verdict& verdict, Time now);
  Actions OnCoordinatorClosed(const std::string& how, const std::string& last_words, Time now);
  Actions OnSignal(int signal, Time now);
  Actions OnTime(Time now);

  // When OnTime must be called at the latest.
  Time deadline() const;

  bool finished() const;
  bool ending() const { return verdict_.has_value(); }
  // By a signal, at some time.
  bool interrupted() const { return interrupted_; }
  // Once ending.
  const launch::Verdict& verdict() const { return *verdict_; }
  // What did not end as it should have: "host b: pid 12 cannot be killed".
  const std::vector<std::string>& left_behind() const { return left_behind_; }

 private:
  enum class HostState { kStarting, kReady, kDone, kClosed };
  struct Host {
    std::string name;
    HostState state = HostState::kStarting;
    bool lost = false;  // told
    std::string cause{};  // of that
    std::string cause_with_words{};  // and the last words
    std::optional<Time> heard{};  // its guard
  };

  Actions Lose(int host, const std::string& reason, Time now);
  // With the lost host's cause: the coordinator may have seen no more than a stream end.
  void CompleteVerdict();
  Actions LoseSilentHosts(Time now);
  Actions Decide(int code, const std::string& reason, int host, bool stop_now, Time now);
  Actions Stop(HostState state, bool hurry = false) const;
  Actions StopAll(bool hurry) const;
  bool AllHostsClosed() const;
  Actions CloseCoordinatorIfAlone(Time now);
  void Propose(int code, const std::string& reason, int host, Time now);

  std::vector<Host> hosts_;
  Limits limits_;
  Time start_deadline_;
  Time silence_deadline_;
  Time last_time_;
  bool coordinator_closed_ = false;
  bool coordinator_told_to_close_ = false;
  bool interrupted_ = false;

  // The verdict the launcher gives itself if the coordinator gives none in time.
  std::optional<launch::Verdict> own_;
  Time own_deadline_{};

  std::optional<launch::Verdict> verdict_;
  Time stop_deadline_{};
  Time kill_deadline_{};
  bool stopped_ = false;
  bool killed_ = false;
  std::vector<std::string> left_behind_;
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_JOB_WATCH_H_
