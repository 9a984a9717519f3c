// Sends datagrams to a multicast group at a steady rate, until its standard input ends; prints how
// many it sent.
//
// Usage: datagrams INTERFACE GROUP PORT RATE SPOIL FILE
//   RATE   datagrams a second
//   SPOIL  how many bytes of each are changed at random
//   FILE   the datagrams to send in turn, each after its length in two bytes, the higher one first

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t state = 88172645463325252ull;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words) {
  if (count != 7) return 2;
  int rate = atoi(words[4]), spoil = atoi(words[5]);
  int file = open(words[6], O_RDONLY);
  struct stat status;
  if (rate <= 0 || file == -1 || fstat(file, &status) == -1) return 2;
  unsigned char *bytes = malloc((size_t)status.st_size);
  if (read(file, bytes, (size_t)status.st_size) != status.st_size) return 2;
  int one = socket(AF_INET, SOCK_DGRAM, 0), loop = 0, hops = 255;
  struct ip_mreqn by = {.imr_ifindex = (int)if_nametoindex(words[1])};
  setsockopt(one, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
  setsockopt(one, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop);
  setsockopt(one, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
  // From the port of the service, as answers must be.
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(5353)};
  if (bind(one, (struct sockaddr *)&from, sizeof from) == -1) return 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[3]))};
  inet_pton(AF_INET, words[2], &to.sin_addr);

  long sent = 0;
  off_t at = 0;
  double begin = now();
  struct pollfd input = {.fd = 0, .events = POLLIN};
  while (poll(&input, 1, 1) == 0) {
    for (long due = (long)((now() - begin) * rate); sent < due; sent++) {
      if (at + 2 > status.st_size) at = 0;
      size_t size = (size_t)bytes[at] << 8 | bytes[at + 1];
      unsigned char packet[65536];
      memcpy(packet, bytes + at + 2, size);
      for (int number = 0; number < spoil && size > 0; number++) packet[next() % size] = (unsigned char)next();
      sendto(one, packet, size, 0, (struct sockaddr *)&to, sizeof to);
      at += 2 + (off_t)size;
    }
  }
  printf("%ld\n", sent);
  return 0;
}
