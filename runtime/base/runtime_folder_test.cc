#include "runtime/base/runtime_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace reigen {
namespace {

class RuntimeFolderTest : public testing::Test {
 protected:
  RuntimeFolderTest() {
    std::string pattern = testing::TempDir() + "/baseXXXXXX";
    base_ = mkdtemp(pattern.data());
  }
  static bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

  std::string base_;
};

TEST_F(RuntimeFolderTest, IsPrivateAndGoneAfterRemove) {
  auto folder = RuntimeFolder::Create(base_, "job-h0");
  ASSERT_TRUE(folder.ok()) << folder.status();
  struct stat info;
  ASSERT_EQ(stat(folder->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  const std::string path = folder->path();
  std::ofstream(path + "/worker.sock") << "x";
  folder->Remove();
  EXPECT_FALSE(Exists(path));
  EXPECT_EQ(rmdir(base_.c_str()), 0);  // nothing else is left in it
}

TEST_F(RuntimeFolderTest, SweepTakesTheDeadAndSparesTheLiving) {
  auto living = RuntimeFolder::Create(base_, "a-h0");
  ASSERT_TRUE(living.ok());
  std::string dead_path;
  {
    auto dead = RuntimeFolder::Create(base_, "b-h0");  // the lock goes, the folder stays
    ASSERT_TRUE(dead.ok());
    dead_path = dead->path();
    std::ofstream(dead_path + "/worker.sock") << "x";
  }
  ASSERT_TRUE(Exists(dead_path));
  const std::string other = base_ + "/reigen-" + std::to_string(getuid() + 1) + "-c-h0";
  mkdir(other.c_str(), 0700);
  EXPECT_EQ(SweepRuntimeFolders(base_), 1);
  EXPECT_FALSE(Exists(dead_path));
  EXPECT_TRUE(Exists(living->path()));
  EXPECT_TRUE(Exists(other));
}

TEST_F(RuntimeFolderTest, AFolderThatExistsIsAnErrorWithItsPath) {
  auto first = RuntimeFolder::Create(base_, "a-h0");
  ASSERT_TRUE(first.ok());
  auto second = RuntimeFolder::Create(base_, "a-h0");
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(second.status()).find(first->path()), std::string::npos);
  EXPECT_TRUE(Exists(first->path()));
}

TEST_F(RuntimeFolderTest, WhereNoneCanBeMadeTheErrorNamesTheRemedy) {
  const std::string message = Message(RuntimeFolder::Create(base_ + "/none", "a-h0").status());
  EXPECT_NE(message.find(base_ + "/none/"), std::string::npos) << message;
  EXPECT_NE(message.find("REIGEN_RUNTIME_DIR or TMPDIR"), std::string::npos) << message;
  std::ofstream(RuntimeFolderPath(base_, "file-h0")) << "x";
  const std::string taken = Message(RuntimeFolder::Create(base_, "file-h0").status());
  EXPECT_NE(taken.find("REIGEN_RUNTIME_DIR or TMPDIR"), std::string::npos) << taken;
}

}  // namespace
}  // namespace reigen
