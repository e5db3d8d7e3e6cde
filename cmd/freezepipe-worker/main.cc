#include <ATen/Parallel.h>
#include <google/protobuf/util/json_util.h>
#include <gperftools/malloc_extension.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include "worker/checkpoint/checkpoint_files.h"
#include "worker/cuda/cuda_module.h"
#include "worker/model/describe.h"
#include "worker/pipeline/job_context.h"
#include "worker/train/profile.h"
#include "worker/train/worker.h"

namespace freezepipe::worker {
namespace {

using google::protobuf::Message;

v1alpha1::FreezePipeJobSpec ReadSpec() {
  const std::string json(std::istreambuf_iterator<char>(std::cin), {});
  v1alpha1::FreezePipeJobSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &spec);
  if (!status.ok()) throw std::runtime_error("spec on standard input: " + status.ToString());
  return spec;
}

void PrintJson(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  std::cout << json << "\n";
}

struct OpenedDevice {
  at::Device device = at::kCPU;
  int64_t memory_bytes = 0;
  std::unique_ptr<BackendFactory> backend;  // null on the CPU
};

/// None in a CPU-only installation.
int CountCudaDevices() {
  try {
    return LoadCudaModule().device_count();
  } catch (const std::exception&) {
    return 0;
  }
}

/// The device of that name; CUDA's libraries are loaded only for "cuda" and "auto".
OpenedDevice OpenDevice(const std::string& name) {
  if (name == "auto") return OpenDevice(CountCudaDevices() > 0 ? "cuda" : "cpu");
  const at::Device device(name);
  if (device.is_cpu()) {
    const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
    return {.device = device, .memory_bytes = memory, .backend = nullptr};
  }
  const CudaModule& cuda = LoadCudaModule();
  const int index = device.has_index() ? device.index() : 0;
  if (index >= cuda.device_count()) throw std::runtime_error("no CUDA device found");
  return {.device = {at::kCUDA, static_cast<c10::DeviceIndex>(index)},
          .memory_bytes = cuda.memory_bytes(index),
          .backend = cuda.make_backend(index)};
}

/// For this thread and those it starts: one waits for it.
sigset_t BlockSigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

/// Somebody who sends it a second time doesn't want to wait.
void LeaveOnSigterm(const sigset_t& sigterm, Worker& worker) {
  int number = 0;
  sigwait(&sigterm, &number);
  if (worker.Terminate()) {
    std::cerr << "told to end: what it holds goes to other workers" << std::endl;
    sigwait(&sigterm, &number);
  }
  _exit(128 + number);
}

void Train(const WorkerOptions& options, const std::string& device_name) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that dies is a failed step, not this process's end
  const sigset_t sigterm = BlockSigterm();
  // Activations come and go every micro-batch: their memory stays mapped.
  MallocExtension::instance()->SetMemoryReleaseRate(0);
  auto with_device = options;
  auto opened = OpenDevice(device_name);
  with_device.device = opened.device;
  with_device.memory_bytes = opened.memory_bytes;
  Worker worker(std::move(with_device), std::move(opened.backend));
  std::thread([sigterm, &worker] { LeaveOnSigterm(sigterm, worker); }).detach();
  std::cerr << "worker " << options.worker << " on " << opened.device << ", coordinator "
            << options.coordinator.target << std::endl;
  int status = EXIT_SUCCESS;
  try {
    worker.Run();
    std::cerr << "worker " << options.worker << " leaves; its longest step took "
              << worker.longest_step_seconds() << " s" << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "freezepipe-worker: " << error.what() << std::endl;
    status = EXIT_FAILURE;
  }
  // Generations that were given up may still be waiting in threads of their own.
  std::quick_exit(status);
}

void PrintProfile(const std::string& device_name) {
  const auto spec = ReadSpec();
  const auto device = OpenDevice(device_name).device;
  at::set_num_threads(spec.worker().threads());
  PrintJson(ProfileModel(JobContext(spec, device)));
}

void PrintDevices() {
  std::cout << "cpu\n";
  const int count = CountCudaDevices();
  for (int i = 0; i < count; ++i) std::cout << "cuda:" << i << "\n";
}

int Main(int argc, char** argv) {
  CLI::App app("FreezePipe worker: one device of a training job");
  app.require_subcommand(1);

  WorkerOptions options;
  std::string device = "cpu";
  auto* train = app.add_subcommand("train", "Train one stage under a coordinator");
  std::string coordinator;
  train->add_option("--coordinator", coordinator, "Coordinator, HOST:PORT")->required();
  train->add_option("--job", options.job, "The coordinator's name of the job")->required();
  train->add_option("--worker", options.worker, "Number of this worker in its job")->required();
  train->add_option("--host", options.host, "Address other workers reach this one by")->required();
  train->add_option("--node", options.node, "Name of this machine, not given: its host name");
  train->add_option("--device", device, "cpu, cuda, cuda:N, or auto for cuda if there is one")
      ->capture_default_str();
  train->add_option("--cache-memory", options.cache.memory,
                    "Folder in memory for outputs of frozen layers, of the job's workers on this "
                    "machine alone; not given: none are kept in memory");
  train->add_option("--cache-disk", options.cache.disk, "The same on disk");
  train->callback([&] {
    options.coordinator = AddressFromEnvironment(coordinator);
    Train(options, device);
  });

  auto* describe =
      app.add_subcommand("describe", "Print what a job spec (JSON on standard input) amounts to");
  describe->callback([] { PrintJson(Describe(ReadSpec())); });

  auto* profile =
      app.add_subcommand("profile", "Measure the layers of a job spec (JSON on standard input)");
  profile->add_option("--device", device, "cpu, cuda or cuda:N")->capture_default_str();
  profile->callback([&] { PrintProfile(device); });

  std::string checkpoint, output;
  auto* exporting = app.add_subcommand("export", "Write a checkpoint's weights as one safetensors");
  exporting->add_option("--checkpoint", checkpoint, "Folder of a complete checkpoint")->required();
  exporting->add_option("--output", output, "File to write")->required();
  exporting->callback([&] { ExportWeights(checkpoint, output); });

  auto* check = app.add_subcommand(
      "check", "Say what is wrong with a checkpoint's files; nothing if they are sound");
  check->add_option("--checkpoint", checkpoint, "Folder of a complete checkpoint")->required();
  check->callback([&] {
    const std::string damage = DamageOf(checkpoint);
    if (!damage.empty()) std::cout << damage << "\n";
  });

  auto* devices = app.add_subcommand("devices", "Print the devices of this machine, one a line");
  devices->callback([] { PrintDevices(); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    std::cerr << "freezepipe-worker: " << text.substr(0, text.find('\n')) << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace freezepipe::worker

int main(int argc, char** argv) { return freezepipe::worker::Main(argc, argv); }
