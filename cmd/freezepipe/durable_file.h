#pragma once

#include <absl/status/status.h>

#include <filesystem>
#include <string_view>

namespace freezepipe::cli {

/// Writes the file so that, whatever happens, it is whole or as it was: a new file, fsync, rename,
/// fsync of the folder. Errors name the file.
absl::Status WriteDurably(const std::filesystem::path& file, std::string_view content);

/// Renames, replacing an empty target, and makes that durable.
absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace freezepipe::cli
