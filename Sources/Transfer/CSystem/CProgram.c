#define _GNU_SOURCE

#include "CProgram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

pid_t csystem_run(const char *program, char *const arguments[], const int descriptors[3], int has_session) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t child = -1;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int number = 0; number < 3; number++) posix_spawn_file_actions_adddup2(&actions, descriptors[number], number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                           (has_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP)));
  int failure = posix_spawnp(&child, program, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == 0) return child;
  errno = failure;
  return -1;
}

// Reads the kernel's answer about a connection. Without such a connection, the kernel may answer
// about another socket of that port. For a socket without a process, the kernel reports the owner 0.
static int read_owner(int netlink, const struct inet_diag_sockid *asked, uint32_t *owner) {
  union {
    struct nlmsghdr header;
    char bytes[4096];
  } answer;
  ssize_t count = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT);
  if (count < 0) return -1;
  const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
  if (!NLMSG_OK(&answer.header, (size_t)count) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      answer.header.nlmsg_len < NLMSG_LENGTH(sizeof *found) || found->idiag_state != TCP_ESTABLISHED ||
      found->idiag_inode == 0 || found->id.idiag_sport != asked->idiag_sport ||
      found->id.idiag_dport != asked->idiag_dport || found->id.idiag_src[0] != asked->idiag_src[0] ||
      found->id.idiag_dst[0] != asked->idiag_dst[0]) {
    errno = ENOENT;
    return -1;
  }
  *owner = found->idiag_uid;
  return 0;
}

// Whether the other end of a connection is open. If not, the kernel may answer about a later connection.
static int is_established(int connection) {
  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  return getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

// Whether an address is 127.0.0.1.
static int is_loopback(const struct sockaddr_in *address, socklen_t length) {
  return length == sizeof *address && address->sin_family == AF_INET &&
         address->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

int csystem_other_end_owner(int connection, uint32_t *owner) {
  struct sockaddr_in own = {0}, other = {0};
  socklen_t length = sizeof own, other_length = sizeof other;
  if (getsockname(connection, (struct sockaddr *)&own, &length) != 0 ||
      getpeername(connection, (struct sockaddr *)&other, &other_length) != 0)
    return -1;
  if (!is_loopback(&own, length) || !is_loopback(&other, other_length)) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 what;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
      .what = {
          .sdiag_family = AF_INET,
          .sdiag_protocol = IPPROTO_TCP,
          .idiag_states = 1U << TCP_ESTABLISHED,
          .id = {
              .idiag_sport = other.sin_port,
              .idiag_dport = own.sin_port,
              .idiag_src = {other.sin_addr.s_addr},
              .idiag_dst = {own.sin_addr.s_addr},
              .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
          },
      },
  };
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink == -1) return -1;
  int result = send(netlink, &request, sizeof request, 0) == (ssize_t)sizeof request
                   ? read_owner(netlink, &request.what.id, owner)
                   : -1;
  int failure = errno;
  close(netlink);
  errno = failure;
  if (result == 0 && !is_established(connection)) {
    errno = ENOTCONN;
    result = -1;
  }
  return result;
}
