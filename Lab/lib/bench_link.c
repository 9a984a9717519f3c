// A network link between two ends on this machine: Lab/bench lets the connections of one
// transfer run through it.
//
//   link TARGET-PORT DELAY-MS WINDOW-BYTES BYTES-PER-SECOND
//
// prints its own port, and passes received bytes on. Every byte arrives DELAY-MS later. Each
// direction of a connection has at most WINDOW-BYTES under way: sent and not yet acknowledged, and
// the acknowledgement takes as long as the byte. All bytes of one direction share BYTES-PER-SECOND,
// first come, first served; 0 is no bound. A new connection is usable one round trip late, as after
// a TCP handshake. Nothing is ever lost or reordered, and there is no slow start.

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

enum { SEGMENT = 64 << 10 };
static const int64_t SECOND = 1000000000;

// Some bytes of a direction: under way, and then their acknowledgement.
struct segment {
    struct segment *next;
    int64_t time;
    ssize_t count;  // 0 at the end of the stream.
    unsigned char bytes[SEGMENT];
};

struct queue {
    struct segment *first, **last;
};

// One direction of a connection: a thread takes, and one delivers.
struct flow {
    int from, to, direction;
    int64_t usable;
    uint64_t under_way;  // For the one that takes.
    struct queue deliveries, acknowledgements;
    pthread_cond_t changed;
};

static int64_t delay, all_free_at[2];
static uint64_t window, rate;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static void push(struct flow *flow, struct queue *queue, struct segment *segment) {
    pthread_mutex_lock(&lock);
    segment->next = NULL;
    if (queue->first == NULL) queue->last = &queue->first;
    *queue->last = segment;
    queue->last = &segment->next;
    pthread_cond_broadcast(&flow->changed);
    pthread_mutex_unlock(&lock);
}

// The first of a queue, at its time; NULL where none is due and none is waited for.
static struct segment *pop(struct flow *flow, struct queue *queue, bool is_waiting) {
    pthread_mutex_lock(&lock);
    while (queue->first == NULL && is_waiting) pthread_cond_wait(&flow->changed, &lock);
    struct segment *segment = queue->first;
    if (segment != NULL && segment->time > now() && !is_waiting) segment = NULL;
    if (segment != NULL) queue->first = segment->next;
    pthread_mutex_unlock(&lock);
    if (segment == NULL) return NULL;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){segment->time / SECOND, segment->time % SECOND}, NULL);
    return segment;
}

static int64_t departure(const struct flow *flow, ssize_t count) {
    pthread_mutex_lock(&lock);
    int64_t time = now(), *free_at = &all_free_at[flow->direction];
    if (rate > 0 && time < *free_at) time = *free_at;
    if (rate > 0) *free_at = time += (int64_t)((double)count / (double)rate * 1e9);
    pthread_mutex_unlock(&lock);
    return time < flow->usable ? flow->usable : time;
}

static void *take(void *argument) {
    struct flow *flow = argument;
    for (bool is_last = false; !is_last;) {
        struct segment *segment;
        while ((segment = pop(flow, &flow->acknowledgements, flow->under_way >= window)) != NULL) {
            flow->under_way -= (uint64_t)segment->count;
            free(segment);
        }
        if ((segment = malloc(sizeof *segment)) == NULL) fail("memory");
        uint64_t room = window - flow->under_way;
        ssize_t count = read(flow->from, segment->bytes, room < SEGMENT ? room : SEGMENT);
        is_last = count <= 0;
        segment->count = is_last ? 0 : count;
        segment->time = departure(flow, segment->count) + delay;
        flow->under_way += (uint64_t)segment->count;
        push(flow, &flow->deliveries, segment);
    }
    return NULL;
}

static void *deliver(void *argument) {
    struct flow *flow = argument;
    for (bool is_last = false; !is_last;) {
        struct segment *segment = pop(flow, &flow->deliveries, true);
        is_last = segment->count == 0;
        for (ssize_t at = 0, sent; at < segment->count; at += sent) {
            sent = send(flow->to, segment->bytes + at, (size_t)(segment->count - at), 0);
            // If the far end reads no more, the rest is discarded, as by a network.
            if (sent < 0) shutdown(flow->from, SHUT_RD);
            if (sent < 0) sent = segment->count - at;
        }
        segment->time = now() + delay;
        push(flow, &flow->acknowledgements, segment);
    }
    shutdown(flow->to, SHUT_WR);
    return NULL;
}

// A flow's memory stays until this process ends, with the transfer.
static void begin(int from, int to, int direction) {
    struct flow *flow = calloc(1, sizeof *flow);
    if (flow == NULL) fail("memory");
    flow->from = from, flow->to = to, flow->direction = direction, flow->usable = now() + 2 * delay;
    int one = 1, small = 512 << 10;
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Bytes that wait in this buffer are beyond the window.
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
