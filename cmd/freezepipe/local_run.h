#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/freezepipe/output_directory.h"
#include "cmd/freezepipe/record_file.h"
#include "cmd/freezepipe/resume_point.h"
#include "cmd/freezepipe/run_recorder.h"
#include "cmd/freezepipe/scratch_folder.h"
#include "cmd/freezepipe/stop_signals.h"
#include "cmd/freezepipe/view/terminal_view.h"
#include "cmd/freezepipe/worker_program.h"
#include "operator/cluster/local/local_cluster.h"
#include "operator/coordinator/session_runner.h"

namespace freezepipe::cli {

/// A job that has passed every check.
struct RunPlan {
  std::string name;
  v1alpha1::FreezePipeJob job;
  v1alpha1::JobDescription description;
  WorkerProgram worker;
  /// Of each worker.
  std::vector<std::string> devices;
  std::optional<ResumePoint> resume;
};

/// One job on this machine: the coordinator in this process, the workers as its children. The
/// composition root of `freezepipe run`.
class LocalRun {
 public:
  LocalRun(RunPlan plan, OutputDirectory* output);
  ~LocalRun();

  /// Listens, then makes the output folder; nothing stays behind when it fails.
  absl::Status Prepare(int port);

  /// Trains to the end, or until it is stopped; returns the program's exit code. After Prepare.
  int Run();

 private:
  coordinator::JobSetup Setup() const;
  cluster::LocalClusterOptions ClusterOptions();
  /// Folders that the workers share for what frozen layers put out.
  void MakeCacheFolders();
  void StopByPerson(int count);
  /// Nothing of the job runs after it.
  void EndEverything();
  v1alpha1::FreezePipeJobStatus StoppedAtOnce();
  double Seconds() const;
  /// Writes weights and summary, says how it went.
  int Conclude(const v1alpha1::FreezePipeJobStatus& status, double seconds);
  absl::Status ExportWeights() const;

  const RunPlan plan_;
  OutputDirectory* const output_;
  /// First of all that starts threads: they inherit its signal mask.
  StopSignals signals_;
  TerminalView view_;
  const double time_offset_;
  RunRecorder recorder_;
  RecordFile records_;
  /// Null where nothing is to be kept.
  std::unique_ptr<ScratchFolder> cache_memory_, cache_disk_;
  cluster::LocalCluster cluster_;
  std::unique_ptr<coordinator::CoordinatorServer> server_;
  std::unique_ptr<coordinator::SessionRunner> session_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace freezepipe::cli
