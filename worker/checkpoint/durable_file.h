#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace freezepipe::worker {

/// Writes the pieces, one behind the other, to a temporary file beside `path`, flushes it to disk,
/// renames it, and flushes the folder: `path` is whole or as it was. Throws std::runtime_error
/// naming the file.
void WriteDurably(const std::filesystem::path& path, const std::vector<std::string_view>& pieces);

/// Renames, replacing an empty target, and makes that durable. Throws std::runtime_error naming the
/// target.
void RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace freezepipe::worker
