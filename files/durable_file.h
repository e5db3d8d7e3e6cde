#pragma once

#include <absl/status/status.h>

#include <filesystem>
#include <string_view>
#include <vector>

namespace freezepipe::files {

/// Writes the pieces, one behind the other, so that, whatever happens, the file is whole or as it
/// was: a new file, fsync, rename, fsync of the folder. Errors name the file.
absl::Status WriteDurably(const std::filesystem::path& file,
                          const std::vector<std::string_view>& pieces);

/// Renames, replacing an empty target, and makes that durable.
absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace freezepipe::files
