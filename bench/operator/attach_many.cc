// Attaches as many workers as it is given, each over a TLS connection and with a token of its own,
// and attaches each anew when its stream ends, with a worker's back-off. Lines on standard input:
// "job worker token"; one on standard output for each Welcome: seconds since the epoch. Ends with
// its standard input.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace {

using freezepipe::v1alpha1::Coordinator;
using freezepipe::v1alpha1::Order;
using freezepipe::v1alpha1::WorkerMessage;

struct Worker {
  std::string job;
  int number = 0;
  std::string token;
};

struct Server {
  std::string target;
  /// As its certificate says.
  std::string name;
  std::string authority;
};

void Attach(Coordinator::Stub& stub, const Worker& worker) {
  grpc::ClientContext context;
  context.set_credentials(grpc::AccessTokenCredentials(worker.token));
  const auto stream = stub.Attach(&context);
  WorkerMessage message;
  auto& hello = *message.mutable_hello();
  hello.set_job(worker.job);
  hello.set_worker(worker.number);
  hello.set_incarnation("the only one");
  hello.set_host("127.0.0.1");
  hello.set_device("cpu");
  Order order;
  bool welcome = false;
  if (stream->Write(message)) {
    while (stream->Read(&order)) {
      if (std::exchange(welcome, true)) continue;
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      std::printf("%.3f\n", std::chrono::duration<double>(now).count());
      std::fflush(stdout);
    }
  }
  stream->Finish();
}

void KeepAttached(const Server& server, const Worker& worker) {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(server.name);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto credentials = grpc::SslCredentials(
      {.pem_root_certs = server.authority, .pem_private_key = "", .pem_cert_chain = ""});
  constexpr std::chrono::milliseconds kFirstBackOff{100}, kLongestBackOff{5'000};
  auto back_off = kFirstBackOff;
  while (true) {
    const auto begin = std::chrono::steady_clock::now();
    const auto stub =
        Coordinator::NewStub(grpc::CreateCustomChannel(server.target, credentials, arguments));
    Attach(*stub, worker);
    if (std::chrono::steady_clock::now() - begin > kLongestBackOff) back_off = kFirstBackOff;
    std::this_thread::sleep_for(back_off);
    back_off = std::min(back_off * 2, kLongestBackOff);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: attach_many HOST:PORT NAME AUTHORITY.pem\n";
    return EXIT_FAILURE;
  }
  std::ifstream file(argv[3]);
  const Server server = {argv[1], argv[2], {std::istreambuf_iterator<char>(file), {}}};
  Worker worker;
  while (std::cin >> worker.job >> worker.number >> worker.token) {
    std::thread(KeepAttached, server, worker).detach();
  }
  std::quick_exit(EXIT_SUCCESS);
}
