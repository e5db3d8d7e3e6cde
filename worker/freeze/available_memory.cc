#include "worker/freeze/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// None if there is no such file, or it says "max".
std::optional<int64_t> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

int64_t LeftOf(const fs::path& limit, const fs::path& used) {
  const auto most = ReadNumber(limit);
  const auto now = ReadNumber(used);
  return most && now ? std::max<int64_t>(0, *most - *now) : kUnlimited;
}

int64_t LeftOnMachine(const fs::path& meminfo) {
  std::ifstream file(meminfo);
  std::string name;
  while (file >> name) {
    int64_t kilobytes = 0;
    if (name == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return kUnlimited;
}

}  // namespace

int64_t AvailableMemory(const fs::path& root) {
  const fs::path cgroup = root / "sys/fs/cgroup";
  return std::min(
      {LeftOnMachine(root / "proc/meminfo"),
       LeftOf(cgroup / "memory.max", cgroup / "memory.current"),
       LeftOf(cgroup / "memory/memory.limit_in_bytes", cgroup / "memory/memory.usage_in_bytes")});
}

}  // namespace freezepipe::worker
