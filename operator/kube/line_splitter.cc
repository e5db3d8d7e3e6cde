#include "operator/kube/line_splitter.h"

namespace freezepipe::kube {

void LineSplitter::Add(std::string_view piece,
                       absl::FunctionRef<void(std::string_view line)> on_line) {
  for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    std::string_view line = piece.substr(0, end);
    if (!begun_.empty()) {
      begun_ += line;
      line = begun_;
    }
    if (!line.empty()) on_line(line);
    begun_.clear();
    piece.remove_prefix(end + 1);
  }
  begun_ += piece;
}

}  // namespace freezepipe::kube
