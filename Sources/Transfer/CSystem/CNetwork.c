#define _GNU_SOURCE

#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// The most datagrams that one call receives.
#define MOST_DATAGRAMS 32

static int set(int socket, int level, int name, int value) {
  return setsockopt(socket, level, name, &value, sizeof value);
}

int csystem_prepare_multicast(int socket, int family, uint32_t interface) {
  if (family == AF_INET) {
    struct ip_mreqn request = {.imr_ifindex = (int)interface};
    if (setsockopt(socket, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request) == -1) return -1;
    if (set(socket, IPPROTO_IP, IP_MULTICAST_TTL, 255) == -1 || set(socket, IPPROTO_IP, IP_TTL, 255) == -1) return -1;
    if (set(socket, IPPROTO_IP, IP_MULTICAST_LOOP, 1) == -1) return -1;
    if (set(socket, IPPROTO_IP, IP_PKTINFO, 1) == -1 || set(socket, IPPROTO_IP, IP_RECVTTL, 1) == -1) return -1;
    return set(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0);
  }
  if (set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) == -1) return -1;
  if (set(socket, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) == -1) return -1;
  // Kernels before 4.20 do not have this option: there, datagrams of groups that other sockets
  // joined arrive too, and are recognised by their interface.
  if (set(socket, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) == -1 && errno != ENOPROTOOPT) return -1;
  return 0;
}

int csystem_join_group(int socket, uint32_t interface, const struct sockaddr *group, uint32_t length) {
  struct group_req request = {.gr_interface = interface};
  if (length > sizeof request.gr_group) {
    errno = EINVAL;
    return -1;
  }
  memcpy(&request.gr_group, group, length);
  int level = group->sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
  return setsockopt(socket, level, MCAST_JOIN_GROUP, &request, sizeof request);
}

// Space for the control messages of one datagram, aligned as required.
union datagram_control {
  char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
  struct cmsghdr alignment;
};

ssize_t csystem_send_datagram(
    int socket, const void *bytes, size_t size, const struct sockaddr *to, uint32_t length, uint32_t interface) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  union datagram_control control = {{0}};
  struct msghdr message = {
      .msg_name = (void *)to, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
  struct cmsghdr *header = &control.alignment;
  if (to->sa_family == AF_INET) {
    struct in_pktinfo information = {.ipi_ifindex = (int)interface};
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof information);
    memcpy(CMSG_DATA(header), &information, sizeof information);
    message.msg_controllen = CMSG_SPACE(sizeof information);
  } else {
    struct in6_pktinfo information = {.ipi6_ifindex = interface};
    header->cmsg_level = IPPROTO_IPV6;
    header->cmsg_type = IPV6_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof information);
    memcpy(CMSG_DATA(header), &information, sizeof information);
    message.msg_controllen = CMSG_SPACE(sizeof information);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Reads the kernel's information about a datagram.
static void describe(struct msghdr *message, struct csystem_datagram *datagram) {
  datagram->interface = 0;
  datagram->hop_limit = -1;
  datagram->is_cut = message->msg_flags & MSG_TRUNC ? 1 : 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo information;
      memcpy(&information, CMSG_DATA(header), sizeof information);
      datagram->interface = (uint32_t)information.ipi_ifindex;
    } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo information;
      memcpy(&information, CMSG_DATA(header), sizeof information);
      datagram->interface = information.ipi6_ifindex;
    } else if ((header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TTL) ||
               (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_HOPLIMIT)) {
      int limit;
      memcpy(&limit, CMSG_DATA(header), sizeof limit);
      datagram->hop_limit = limit;
    }
  }
}

int csystem_receive_datagrams(int socket, void *bytes, size_t each, struct csystem_datagram *found, uint32_t count) {
  struct mmsghdr messages[MOST_DATAGRAMS];
  struct iovec parts[MOST_DATAGRAMS];
  union datagram_control controls[MOST_DATAGRAMS];
  if (count > MOST_DATAGRAMS) count = MOST_DATAGRAMS;
  memset(messages, 0, sizeof messages);
  for (uint32_t index = 0; index < count; index++) {
    parts[index] = (struct iovec){.iov_base = (char *)bytes + index * each, .iov_len = each};
    messages[index].msg_hdr = (struct msghdr){
        .msg_name = found[index].sender,
        .msg_namelen = sizeof found[index].sender,
        .msg_iov = &parts[index],
        .msg_iovlen = 1,
        .msg_control = controls[index].bytes,
        .msg_controllen = sizeof controls[index].bytes,
    };
  }
  int received = recvmmsg(socket, messages, count, MSG_DONTWAIT, NULL);
  for (int index = 0; index < received; index++) {
    found[index].size = messages[index].msg_len;
    describe(&messages[index].msg_hdr, &found[index]);
  }
  return received;
}

const uint32_t csystem_interface_changes = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;

int csystem_route_socket(uint32_t groups) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor == -1) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int csystem_ask_interfaces(int socket, int what) {
  struct {
    struct nlmsghdr header;
    // The longer of the two requests; both begin with the family, and zero selects all families.
    struct ifinfomsg body;
  } request = {
      .header = {
          .nlmsg_len = sizeof request,
          .nlmsg_type = what == 0 ? RTM_GETLINK : RTM_GETADDR,
          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
      }};
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  return sendto(socket, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel) == -1 ? -1 : 0;
}

int csystem_watch(void) { return epoll_create1(EPOLL_CLOEXEC); }

int csystem_watch_set(int watch, int operation, int descriptor, uint64_t name, uint32_t events) {
  struct epoll_event event = {.events = events, .data.u64 = name};
  return epoll_ctl(watch, operation, descriptor, &event);
}

// The most events of one wait.
#define MOST_EVENTS 64

int csystem_watch_wait(int watch, struct csystem_watched *found, int most, int milliseconds) {
  struct epoll_event events[MOST_EVENTS];
  int count = epoll_wait(watch, events, most < MOST_EVENTS ? most : MOST_EVENTS, milliseconds);
  for (int index = 0; index < count; index++) {
    found[index] = (struct csystem_watched){.name = events[index].data.u64, .events = events[index].events};
  }
  return count;
}

int csystem_byte_pipe(int ends[2], int size) {
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) return -1;
  // A user with many pipes gets small ones.
  (void)fcntl(ends[1], F_SETPIPE_SZ, size);
  return 0;
}

long csystem_move_bytes(int from, int to, size_t most) {
  return splice(from, NULL, to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}
