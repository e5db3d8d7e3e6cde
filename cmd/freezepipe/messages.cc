#include "cmd/freezepipe/messages.h"

#include <iostream>

namespace freezepipe::cli {

void PrintError(const std::string& what) { std::cerr << "freezepipe: error: " << what << "\n"; }

void PrintError(const absl::Status& status) { PrintError(std::string(status.message())); }

void PrintWarning(const std::string& what) { std::cerr << "freezepipe: warning: " << what << "\n"; }

}  // namespace freezepipe::cli
