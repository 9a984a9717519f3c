// Copies one file over TLS 1.3 with AES-128-GCM, and does nothing else: the yardstick of Scripts/bench.
//
//   yardstick receive FILE STREAMS CERTIFICATE KEY    prints its port, and writes what comes
//   yardstick send FILE STREAMS PORT
//
// Each stream is a thread with a connection of its own and carries one part of the file, behind the part's offset and length.
// Nobody is authenticated, nothing is checked, resumed, synced or named: what is left is what any such copy must do.

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, MOST_STREAMS = 16 };

static SSL_CTX *context;
static int file;
static int place;  // The listening socket of a receiver, the port of a sender.

struct part {
    uint64_t offset, length;
};

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static void *room(void) {
    void *bytes = aligned_alloc(4096, BUFFER);
    if (bytes == NULL) fail("memory");
    return bytes;
}

static SSL *session(int connection) {
    SSL *tls = SSL_new(context);
    if (tls == NULL || SSL_set_fd(tls, connection) != 1) fail("session");
    return tls;
}

static void *send_part(void *argument) {
    struct part part = *(struct part *)argument;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)place), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL *tls = session(connection);
    if (SSL_connect(tls) != 1) fail("handshake");
    uint64_t header[2] = {htobe64(part.offset), htobe64(part.length)};
    if (SSL_write(tls, header, sizeof header) != sizeof header) fail("write");
    char *bytes = room();
    while (part.length > 0) {
        ssize_t count = pread(file, bytes, part.length < BUFFER ? part.length : BUFFER, (off_t)part.offset);
        if (count <= 0) fail("read");
        if (SSL_write(tls, bytes, (int)count) != count) fail("write");
        part.offset += (uint64_t)count;
        part.length -= (uint64_t)count;
    }
    SSL_shutdown(tls);
    // Waits for the other end's word, so that the end of this process means that all has arrived.
    SSL_shutdown(tls);
    close(connection);
    return NULL;
}

static void write_all(const char *bytes, size_t count, uint64_t offset) {
    while (count > 0) {
        ssize_t written = pwrite(file, bytes, count, (off_t)offset);
        if (written <= 0) fail("write");
        bytes += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
}

static void *receive_part(void *unused) {
    (void)unused;
    int connection = accept(place, NULL, NULL);
    if (connection < 0) fail("accept");
    SSL *tls = session(connection);
    if (SSL_accept(tls) != 1) fail("handshake");
    uint64_t header[2];
    if (SSL_read(tls, header, sizeof header) != sizeof header) fail("header");
    uint64_t offset = be64toh(header[0]), left = be64toh(header[1]);
    char *bytes = room();
    size_t held = 0;
    while (left > 0) {
        int count = SSL_read(tls, bytes + held, (int)(left < BUFFER - held ? left : BUFFER - held));
        if (count <= 0) fail("read");
        held += (size_t)count;
        left -= (uint64_t)count;
        if (held == BUFFER || left == 0) {
            write_all(bytes, held, offset);
            offset += held;
            held = 0;
        }
    }
    SSL_shutdown(tls);
    close(connection);
    return NULL;
}

static void prepare(const SSL_METHOD *method) {
    context = SSL_CTX_new(method);
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 || SSL_CTX_set_num_tickets(context, 0) != 1)
        fail("context");
}

static void run(int streams, void *(*work)(void *), struct part *parts) {
    pthread_t threads[MOST_STREAMS];
    for (int number = 0; number < streams; number++)
        if (pthread_create(&threads[number], NULL, work, parts == NULL ? NULL : &parts[number]) != 0) fail("thread");
    for (int number = 0; number < streams; number++) pthread_join(threads[number], NULL);
}

static void receive(const char *path, int streams, const char *certificate, const char *key) {
    prepare(TLS_server_method());
    if (SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        fail("certificate");
    file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) fail(path);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    place = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(place, (struct sockaddr *)&address, length) < 0 || listen(place, MOST_STREAMS) < 0 ||
        getsockname(place, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    run(streams, receive_part, NULL);
}

static void send_file(const char *path, int streams, int port) {
    prepare(TLS_client_method());
    place = port;
    file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0) fail(path);
    uint64_t size = (uint64_t)status.st_size, share = size / (uint64_t)streams;
    struct part parts[MOST_STREAMS];
    for (int number = 0; number < streams; number++) {
        uint64_t offset = share * (uint64_t)number;
        parts[number] = (struct part){offset, number == streams - 1 ? size - offset : share};
    }
    run(streams, send_part, parts);
}

int main(int count, char **words) {
    int streams = count > 3 ? atoi(words[3]) : 0;
    if (streams < 1 || streams > MOST_STREAMS) return 2;
    if (count == 6 && strcmp(words[1], "receive") == 0)
        receive(words[2], streams, words[4], words[5]);
    else if (count == 5 && strcmp(words[1], "send") == 0)
        send_file(words[2], streams, atoi(words[4]));
    else
        return 2;
    return 0;
}
