#include "runtime/probe/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace reigen::probe {
namespace {

using testing::HasSubstr;

TEST(SystemTest, ThisMachineCanRunJobs) {
  const SystemFacts facts = ProbeSystem("/tmp");
  EXPECT_THAT(facts.kernel, HasSubstr("Linux"));
  EXPECT_NE(facts.host_name, "");
  EXPECT_EQ(facts.memfd_error, "");
  EXPECT_EQ(facts.pidfd_error, "");
  EXPECT_GT(facts.open_files, 0u);
  EXPECT_GE(facts.open_files_most, facts.open_files);
}

TEST(SystemTest, AFolderIsTriedAndLeftAsItWas) {
  const std::string folder = testing::TempDir() + "/w";
  std::filesystem::create_directories(folder);
  // The folders of tests are long.
  const FolderFacts facts = ProbeFolder(folder);
  if (facts.error.empty()) {
    EXPECT_GT(facts.free_bytes, 0u);
  } else {
    EXPECT_THAT(facts.error, HasSubstr("too long"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(SystemTest, AFolderThatIsNotThereOrHasALongPathIsAnError) {
  EXPECT_EQ(ProbeFolder("/nonexistent/folder").error, "No such file or directory");
  const std::string folder = testing::TempDir() + "/" + std::string(100, 'x');
  std::filesystem::create_directories(folder);
  EXPECT_THAT(ProbeFolder(folder).error, HasSubstr("too long for a socket"));
  EXPECT_THAT(ProbeFolder("/proc").error, HasSubstr("o"));
}

}  // namespace
}  // namespace reigen::probe
