// A network link between two ends on this machine: Scripts/bench lets connections run through it.
//
//   link TARGET-PORT DELAY-MS WINDOW-BYTES BYTES-PER-SECOND
//
// prints its own port, and passes on what comes there. Every byte arrives DELAY-MS later. Of each connection's direction at most
// WINDOW-BYTES are under way: sent and not yet acknowledged, the acknowledgement taking as long as the byte. All bytes of one
// direction share BYTES-PER-SECOND, first come, first served; 0 is no bound. A new connection is usable one round trip late, as
// after a TCP handshake. Nothing is ever lost or reordered, and there is no slow start.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 64, SEGMENT = 64 << 10, MOST_SEGMENTS = 4096 };

// A moment at which all bytes up to a position may be delivered, or count as acknowledged.
struct moment {
    uint64_t position;
    int64_t time;
};

struct moments {
    struct moment list[MOST_SEGMENTS];
    unsigned first, count;
};

// One direction of a connection. Positions count its bytes: read ≥ written ≥ acknowledged.
struct flow {
    int from, to;
    uint64_t read, deliverable, written, acknowledged;
    struct moments deliveries, acknowledgements;
    int64_t usable;
    bool ended, shut;
    bool full;  // The far end takes no more just now.
    unsigned char *bytes;
};

static struct flow *flows[2 * MOST_CONNECTIONS];
static int flow_count;
static int64_t delay, free_at[2];
static uint64_t window, rate;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void note(struct moments *moments, uint64_t position, int64_t time) {
    moments->list[(moments->first + moments->count++) % MOST_SEGMENTS] = (struct moment){position, time};
}

// Takes what is due; the position up to which it reaches.
static uint64_t due(struct moments *moments, int64_t time, uint64_t position) {
    while (moments->count > 0 && moments->list[moments->first].time <= time) {
        position = moments->list[moments->first].position;
        moments->first = (moments->first + 1) % MOST_SEGMENTS;
        moments->count--;
    }
    return position;
}

static int64_t next(const struct moments *moments) {
    return moments->count > 0 ? moments->list[moments->first].time : INT64_MAX;
}

static size_t readable_room(const struct flow *flow) {
    uint64_t room = window - (flow->read - flow->acknowledged), until_end = window - flow->read % window;
    if (flow->ended || flow->deliveries.count == MOST_SEGMENTS || flow->acknowledgements.count > MOST_SEGMENTS / 2) return 0;
    if (room > until_end) room = until_end;
    return room < SEGMENT ? room : SEGMENT;
}

static void take(struct flow *flow, int direction) {
    size_t room = readable_room(flow);
    if (room == 0) return;
    ssize_t count = read(flow->from, flow->bytes + flow->read % window, room);
    if (count < 0 && errno == EAGAIN) return;
    int64_t time = now();
    if (count <= 0) {
        flow->ended = true;
        count = 0;
    }
    int64_t departure = time > free_at[direction] ? time : free_at[direction];
    if (rate > 0) free_at[direction] = departure += (int64_t)((double)count / (double)rate * 1e9);
    if (departure < flow->usable) departure = flow->usable;
    flow->read += (uint64_t)count;
    note(&flow->deliveries, flow->read, departure + delay);
}

static void deliver(struct flow *flow) {
    int64_t time = now();
    flow->acknowledged = due(&flow->acknowledgements, time, flow->acknowledged);
    flow->deliverable = due(&flow->deliveries, time, flow->deliverable);
    flow->full = false;
    while (flow->written < flow->deliverable && flow->acknowledgements.count < MOST_SEGMENTS) {
        uint64_t count = flow->deliverable - flow->written, until_end = window - flow->written % window;
        ssize_t sent =
            send(flow->to, flow->bytes + flow->written % window, count < until_end ? count : until_end, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            flow->full = true;
            return;
        }
        if (sent < 0) {
            // Nobody reads there any more: what is left is thrown away, as a network would.
            shutdown(flow->from, SHUT_RD);
            flow->written = flow->deliverable;
            return;
        }
        flow->written += (uint64_t)sent;
        note(&flow->acknowledgements, flow->written, time + delay);
    }
    if (flow->ended && !flow->shut && flow->deliveries.count == 0 && flow->written == flow->read) {
        shutdown(flow->to, SHUT_WR);
        flow->shut = true;
    }
}

static struct flow *flow_between(int from, int to, int64_t usable) {
    struct flow *flow = calloc(1, sizeof *flow);
    if (flow == NULL || (flow->bytes = malloc(window)) == NULL) fail("memory");
    flow->from = from;
    flow->to = to;
    flow->usable = usable;
    return flow;
}

static void prepare(int connection) {
    int one = 1, small = 512 << 10;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // What waits in these buffers is beyond the window.
    setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    fcntl(connection, F_SETFL, O_NONBLOCK);
}

static void admit(int listening, int port) {
    int near = accept(listening, NULL, NULL);
    if (near < 0 || flow_count + 2 > 2 * MOST_CONNECTIONS) fail("accept");
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int far = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(far, (struct sockaddr *)&address, sizeof address) < 0) {
        close(near);
        close(far);
        return;
    }
    prepare(near);
    prepare(far);
    int64_t usable = now() + 2 * delay;
    flows[flow_count++] = flow_between(near, far, usable);
    flows[flow_count++] = flow_between(far, near, usable);
}

// Frees the connections that are over in both directions.
static void retire(void) {
    for (int number = 0; number < flow_count; number += 2) {
        struct flow *there = flows[number], *back = flows[number + 1];
        if (!there->shut || !back->shut) continue;
        close(there->from);
        close(there->to);
        for (int each = 0; each < 2; each++) {
            free(flows[number + each]->bytes);
            free(flows[number + each]);
            flows[number + each] = flows[flow_count - 2 + each];
        }
        flow_count -= 2;
        number -= 2;
    }
}

static void await(int listening, int port) {
    struct pollfd waits[2 * MOST_CONNECTIONS * 2 + 1] = {{.fd = listening, .events = POLLIN}};
    int64_t soonest = INT64_MAX;
    int count = 1;
    for (int number = 0; number < flow_count; number++) {
        struct flow *flow = flows[number];
        int64_t times[] = {flow->full ? INT64_MAX : next(&flow->deliveries), next(&flow->acknowledgements)};
        for (int each = 0; each < 2; each++)
            if (times[each] < soonest) soonest = times[each];
        waits[count++] = (struct pollfd){.fd = readable_room(flow) > 0 ? flow->from : -1, .events = POLLIN};
        waits[count++] = (struct pollfd){.fd = flow->full ? flow->to : -1, .events = POLLOUT};
    }
    int64_t left = soonest == INT64_MAX ? INT64_C(3600000000000) : soonest - now();
    if (left < 0) left = 0;
    struct timespec limit = {left / 1000000000, left % 1000000000};
    if (ppoll(waits, (nfds_t)count, &limit, NULL) < 0 && errno != EINTR) fail("poll");
    for (int number = 0; number < flow_count; number++) {
        if (waits[1 + 2 * number].revents != 0) take(flows[number], number % 2);
        deliver(flows[number]);
    }
    if (waits[0].revents != 0) admit(listening, port);
    retire();
}

int main(int count, char **words) {
    if (count != 5) return 2;
    delay = (int64_t)(atof(words[2]) * 1e6);
    window = strtoull(words[3], NULL, 10);
    rate = strtoull(words[4], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, MOST_CONNECTIONS) < 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) await(listening, atoi(words[1]));
}
