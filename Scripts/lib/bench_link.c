// A network link between two ends on this machine: Scripts/bench lets the connections of one transfer run through it.
//
//   link TARGET-PORT DELAY-MS WINDOW-BYTES BYTES-PER-SECOND
//
// prints its own port, and passes on what comes there. Every byte arrives DELAY-MS later. Of each connection's direction at most
// WINDOW-BYTES are under way: sent and not yet acknowledged, the acknowledgement taking as long as the byte. All bytes of one
// direction share BYTES-PER-SECOND, first come, first served; 0 is no bound. A new connection is usable one round trip late, as
// after a TCP handshake. Nothing is ever lost or reordered, and there is no slow start.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT = 64 << 10, MOST_SEGMENTS = 4096 };

// The moment at which all bytes up to a position may be delivered, or count as acknowledged.
struct moment {
    uint64_t position;
    int64_t time;
};

struct moments {
    struct moment list[MOST_SEGMENTS];
    unsigned first, count;
};

// One direction of a connection: a thread takes, and one delivers. Positions count its bytes.
struct flow {
    int from, to, direction;
    int64_t usable;
    uint64_t taken, delivered, acknowledged;
    struct moments deliveries, acknowledgements;
    bool has_ended;
    pthread_cond_t changed;
    unsigned char *bytes;
};

static int64_t delay, free_at[2];
static uint64_t window, rate;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void sleep_until(int64_t time) {
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){time / 1000000000, time % 1000000000}, NULL);
}

static void note(struct moments *moments, uint64_t position, int64_t time) {
    moments->list[(moments->first + moments->count++) % MOST_SEGMENTS] = (struct moment){position, time};
}

static struct moment first(struct moments *moments) {
    struct moment found = moments->list[moments->first++ % MOST_SEGMENTS];
    moments->count--;
    return found;
}

// How much may be read, in one piece; waits until that is something.
static size_t room(struct flow *flow) {
    for (;;) {
        uint64_t left = window - (flow->taken - flow->acknowledged), until_end = window - flow->taken % window;
        if (left > until_end) left = until_end;
        if (flow->deliveries.count + flow->acknowledgements.count >= MOST_SEGMENTS - 1) left = 0;
        if (left > 0) return left < SEGMENT ? left : SEGMENT;
        while (flow->acknowledgements.count == 0) pthread_cond_wait(&flow->changed, &lock);
        struct moment moment = first(&flow->acknowledgements);
        pthread_mutex_unlock(&lock);
        sleep_until(moment.time);
        pthread_mutex_lock(&lock);
        flow->acknowledged = moment.position;
    }
}

static void *take(void *argument) {
    struct flow *flow = argument;
    pthread_mutex_lock(&lock);
    while (!flow->has_ended) {
        size_t most = room(flow);
        pthread_mutex_unlock(&lock);
        ssize_t count = read(flow->from, flow->bytes + flow->taken % window, most);
        int64_t departure = now();
        pthread_mutex_lock(&lock);
        flow->has_ended = count <= 0;
        if (count > 0) flow->taken += (uint64_t)count;
        if (departure < free_at[flow->direction]) departure = free_at[flow->direction];
        if (rate > 0 && count > 0) free_at[flow->direction] = departure += (int64_t)((double)count / (double)rate * 1e9);
        if (departure < flow->usable) departure = flow->usable;
        note(&flow->deliveries, flow->taken, departure + delay);
        pthread_cond_broadcast(&flow->changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *deliver(void *argument) {
    struct flow *flow = argument;
    for (bool is_last = false; !is_last;) {
        pthread_mutex_lock(&lock);
        while (flow->deliveries.count == 0) pthread_cond_wait(&flow->changed, &lock);
        struct moment moment = first(&flow->deliveries);
        is_last = flow->has_ended && flow->deliveries.count == 0;
        pthread_mutex_unlock(&lock);
        sleep_until(moment.time);
        while (flow->delivered < moment.position) {
            uint64_t count = moment.position - flow->delivered, until_end = window - flow->delivered % window;
            ssize_t sent = send(flow->to, flow->bytes + flow->delivered % window, count < until_end ? count : until_end, 0);
            // Where the far end reads no more, what is left is thrown away, as a network would.
            if (sent < 0) shutdown(flow->from, SHUT_RD);
            flow->delivered += sent < 0 ? count : (uint64_t)sent;
        }
        pthread_mutex_lock(&lock);
        note(&flow->acknowledgements, flow->delivered, now() + delay);
        pthread_cond_broadcast(&flow->changed);
        pthread_mutex_unlock(&lock);
    }
    shutdown(flow->to, SHUT_WR);
    return NULL;
}

// What a flow has stays until this process ends, with the transfer.
static void begin(int from, int to, int direction) {
    struct flow *flow = calloc(1, sizeof *flow);
    if (flow == NULL || (flow->bytes = malloc(window)) == NULL) fail("memory");
    flow->from = from, flow->to = to, flow->direction = direction, flow->usable = now() + 2 * delay;
    int one = 1, small = 512 << 10;
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // What waits in this buffer is beyond the window.
    setsockopt(from, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    pthread_cond_init(&flow->changed, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, take, flow) != 0 || pthread_create(&thread, NULL, deliver, flow) != 0) fail("thread");
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
    if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, 64) < 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    address.sin_port = htons((uint16_t)atoi(words[1]));
    for (;;) {
        int near = accept(listening, NULL, NULL), far = socket(AF_INET, SOCK_STREAM, 0);
        if (near < 0 || far < 0) fail("accept");
        if (connect(far, (struct sockaddr *)&address, length) < 0) {
            close(near);
            close(far);
            continue;
        }
        begin(near, far, 0);
        begin(far, near, 1);
    }
}
