#include "tests/training/break_connections.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace freezepipe::training {
namespace {

bool ShutDown(int socket) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  const bool connected = getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  if (!connected || (peer.ss_family != AF_INET && peer.ss_family != AF_INET6)) return false;
  return shutdown(socket, SHUT_RDWR) == 0;
}

}  // namespace

int BreakConnections(pid_t pid) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  int broken = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    const int number = std::stoi(entry.path().filename());
    const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, number, 0));
    if (copy < 0) continue;  // closed by now
    broken += ShutDown(copy);
    close(copy);
  }
  close(process);
  return broken;
}

}  // namespace freezepipe::training
