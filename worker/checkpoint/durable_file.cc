#include "worker/checkpoint/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace freezepipe::worker {
namespace {

class File {
 public:
  File(const std::filesystem::path& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) Fail("open");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR) {
        Fail("write");
      }
    }
  }

  void Sync() {
    if (::fsync(descriptor_) != 0) Fail("flush");
  }

 private:
  [[noreturn]] void Fail(const char* action) const {
    throw std::runtime_error(path_.string() + ": cannot " + action + ": " + std::strerror(errno));
  }

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

void WriteDurably(const std::filesystem::path& path, const std::vector<std::string_view>& pieces) {
  std::filesystem::path temporary = path;
  temporary += ".tmp." + std::to_string(::getpid());
  try {
    {
      File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
      for (const std::string_view piece : pieces) file.Write(piece);
      file.Sync();
    }
    RenameDurably(temporary, path);
  } catch (const std::runtime_error&) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

void RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::rename(from, to);
  const std::filesystem::path folder = to.parent_path();
  File(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY).Sync();
}

}  // namespace freezepipe::worker
