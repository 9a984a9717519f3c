// A link between two network namespaces: two tunnels of /dev/net/tun, each with the same rate, delay, loss and
// queue in its direction.
//
//   emulator NAMESPACE NAMESPACE RATE DELAY LOSS QUEUE SEED
//
// RATE in bits a second, DELAY of one direction in microseconds, LOSS in packets of 10,000, QUEUE in bytes.
// The tunnels are called net. Prints a line when they are there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { most = 1 << 15, largest = 1500 };

// The bytes of one direction, and when the last packet has left the queue, in nanoseconds.
struct way {
  int from, to;
  struct packet {
    uint64_t arrives;
    uint16_t length;
    unsigned char bytes[largest];
  } *ring;
  uint32_t first, count;
  uint64_t left;
};

static uint64_t rate, delay, loss, queue, chance;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void check(int result, const char *what) {
  if (result >= 0) return;
  perror(what);
  exit(1);
}

static int tunnel(const char *namespace) {
  int space = open(namespace, O_RDONLY | O_CLOEXEC);
  check(space, namespace);
  check(setns(space, CLONE_NEWNET), "setns");
  close(space);
  int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  check(file, "/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(request.ifr_name, "net");
  check(ioctl(file, TUNSETIFF, &request), "TUNSETIFF");
  return file;
}

static uint64_t draw(void) {
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return (chance >> 33) % 10000;
}

static void take(struct way *way) {
  for (;;) {
    struct packet *packet = &way->ring[(way->first + way->count) % most];
    ssize_t length = read(way->from, packet->bytes, largest);
    if (length <= 0) return;
    uint64_t time = now();
    if (way->left < time) way->left = time;
    // What is in the queue takes this long; a packet without room there is lost, as is one by chance.
    uint64_t waiting = (way->left - time) * rate / 8000000000u;
    if (waiting + (uint64_t)length > queue || draw() < loss || way->count == most - 1) continue;
    way->left += (uint64_t)length * 8000000000u / rate;
    packet->arrives = way->left + delay;
    packet->length = (uint16_t)length;
    way->count++;
  }
}

static uint64_t give(struct way *way) {
  while (way->count > 0) {
    struct packet *packet = &way->ring[way->first];
    uint64_t time = now();
    if (packet->arrives > time) return packet->arrives - time;
    (void)!write(way->to, packet->bytes, packet->length);
    way->first = (way->first + 1) % most;
    way->count--;
  }
  return 1000000000u;
}

int main(int count, char **words) {
  if (count != 8) return 2;
  int one = tunnel(words[1]), other = tunnel(words[2]);
  rate = strtoull(words[3], NULL, 10);
  delay = strtoull(words[4], NULL, 10) * 1000;
  loss = strtoull(words[5], NULL, 10);
  queue = strtoull(words[6], NULL, 10);
  chance = strtoull(words[7], NULL, 10);
  static struct packet rings[2][most];
  struct way ways[2] = {{.from = one, .to = other, .ring = rings[0]}, {.from = other, .to = one, .ring = rings[1]}};
  puts("ready");
  fflush(stdout);
  for (;;) {
    uint64_t wait = give(&ways[0]), second = give(&ways[1]);
    if (second < wait) wait = second;
    struct pollfd files[2] = {{.fd = one, .events = POLLIN}, {.fd = other, .events = POLLIN}};
    ppoll(files, 2, &(struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)}, NULL);
    for (int i = 0; i < 2; i++) take(&ways[i]);
  }
}
