#include "files/test_folder.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace freezepipe::files {

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "freezepipe-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace freezepipe::files
