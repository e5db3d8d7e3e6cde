#include "cmd/freezepipe/record_file.h"

#include <stdexcept>

#include "files/durable_file.h"
#include "operator/report/json.h"

namespace freezepipe::cli {

void RecordFile::Write(const v1alpha1::FreezePipeJobStatus& status) {
  const absl::Status written =
      files::WriteDurably(path_, {report::ToJson(status, report::JsonLayout::kIndented)});
  if (!written.ok()) throw std::runtime_error(std::string(written.message()));
  last_ = status;
}

}  // namespace freezepipe::cli
