#define _GNU_SOURCE

#include "CProgram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
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

// Reads the answer about one socket.
static int read_owner(int netlink, uint32_t *owner) {
  union {
    struct nlmsghdr header;
    char bytes[4096];
  } answer;
  ssize_t count = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT);
  if (count < 0) return -1;
  if (!NLMSG_OK(&answer.header, (size_t)count) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      answer.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) {
    errno = ENOENT;
    return -1;
  }
  *owner = ((struct inet_diag_msg *)NLMSG_DATA(&answer.header))->idiag_uid;
  return 0;
}

int csystem_connection_owner(uint16_t port, uint16_t to_port, uint32_t *owner) {
  struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 what;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
      .what = {
          .sdiag_family = AF_INET,
          .sdiag_protocol = IPPROTO_TCP,
          .idiag_states = ~0U,
          .id = {
              .idiag_sport = htons(port),
              .idiag_dport = htons(to_port),
              .idiag_src = {htonl(INADDR_LOOPBACK)},
              .idiag_dst = {htonl(INADDR_LOOPBACK)},
              .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
          },
      },
  };
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink == -1) return -1;
  int result = send(netlink, &request, sizeof request, 0) == (ssize_t)sizeof request ? read_owner(netlink, owner) : -1;
  int failure = errno;
  close(netlink);
  errno = failure;
  return result;
}
