// One connection of a hostile device: TLS and pairing follow Protocol.md §4, everything else
// follows its commands.
//
//   hostile IDENTITY    the key is made and kept in this file, where it is not there yet
//
// Commands come on standard input, one a line; each is answered by one line.
//
//   narrow COUNT                  the next connection's receive buffer has at most so many bytes: ok
//   crumble                       from now on each sent byte has its own TLS record, and goes a
//                                 millisecond after the last one if there are few of them: ok
//   sip                           from now on each byte is read by itself: ok
//   connect ADDRESS PORT [FROM]   the TLS handshake of a client: ok SECONDS
//   listen ADDRESS                port PORT; accept: the TLS handshake of a server with the next client
//                                 that sends anything, ok
//   inherit DESCRIPTOR            the same at a socket that listens already: ok
//   pair CODE                     pairs, in its role, up to READY: ok
//   share CODE                    only a client's HELLO_C and PAIR_A, or a server's HELLO_S and PAIR_B: ok
//   enter MODE                    a client's HELLO_C, HELLO_S, READY in mode 2 or 3: ok
//   hello MODE                    the same without READY: ok
//   welcome                       the same as the server: ok
//   send COUNT                    so many bytes that follow the line: ok
//   seal KEY NONCE COUNT          the tag (§9.3) of so many bytes that follow the line: value TAG
//   mark KEY COUNT                their mark (§9.2): value MARK
//   read SECONDS                  the next frame: frame TYPE LENGTH, then its body; or silent
//   update SECONDS                KeyUpdates without end: updates COUNT SECONDS kept | dropped
//   close                         close_notify: ok
//
// If the other end has gone, the answer is `gone WHY`.

#include "attack_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static EVP_PKEY *key;
static bool is_server, is_crumbling, is_sipping;
static int kept;
static int listening = -1, connection = -1;
static SSL *tls;
static double opened;
static char reason[200];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static EVP_PKEY *identity(const char *path) {
    FILE *file = fopen(path, "r");
    EVP_PKEY *key = file != NULL ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : EVP_EC_gen("P-256");
    if (key == NULL) fail(path);
    if (file == NULL) {
        file = fopen(path, "w");
        if (file == NULL || PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) != 1) fail(path);
    }
    fclose(file);
    return key;
}

// The socket

static bool lost(const char *why) {
    snprintf(reason, sizeof reason, "%s", why);
    return false;
}

static bool wait_for(short events, double until) {
    double left = until - now();
    struct pollfd one = {.fd = connection, .events = events};
    return left > 0 && poll(&one, 1, (int)(left * 1000) + 1) > 0;
}

// Whether a call that did not succeed may be made again, and when: false where the other end is
// gone.
static bool may_retry(int result, double until, bool *is_late) {
    int error = SSL_get_error(tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        return lost(error == SSL_ERROR_ZERO_RETURN ? "close_notify" : error == SSL_ERROR_SYSCALL ? "cut" : "error");
    *is_late = !wait_for(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until);
    return true;
}

static bool shake(double until) {
    int one = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    opened = now();
    tls = SSL_new(new_context(is_server, key));
    SSL_set_fd(tls, connection);
    while (true) {
        ERR_clear_error();
        int result = is_server ? SSL_accept(tls) : SSL_connect(tls);
        bool is_late = false;
        if (result == 1) return true;
        if (!may_retry(result, until, &is_late)) return false;
        if (is_late) return lost("silent in the handshake");
    }
}

// Before it connects or listens: the window of TCP is told with the first packet.
static void narrow(int descriptor) {
    if (kept > 0) setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kept, sizeof kept);
}

static bool dial(const char *address, int port, const char *from) {
    struct sockaddr_in target = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in own = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, address, &target.sin_addr) != 1) return lost("no address");
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    narrow(connection);
    if (from != NULL && (inet_pton(AF_INET, from, &own.sin_addr) != 1 ||
                         bind(connection, (struct sockaddr *)&own, sizeof own) < 0))
        return lost("cannot be bound");
    if (connect(connection, (struct sockaddr *)&target, sizeof target) < 0 && errno != EINPROGRESS) return lost("refused");
    if (!wait_for(POLLOUT, now() + 10)) return lost("not connected");
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? shake(now() + 10) : lost(strerror(error));
}

static bool write_all(const unsigned char *bytes, size_t count) {
    bool is_pausing = is_crumbling && count < 256;
    while (count > 0) {
        size_t written = 0;
        bool is_late = false;
        ERR_clear_error();
        int result = SSL_write_ex(tls, bytes, is_crumbling ? 1 : count, &written);
        if (result != 1 && !may_retry(result, now() + 60, &is_late)) return false;
        if (is_late) return lost("takes nothing");
        bytes += written;
        count -= written;
        if (is_pausing) poll(NULL, 0, 1);
    }
    return true;
}

// How many bytes came: all, or fewer where time was up; below zero where the other end is gone.
static long read_some(unsigned char *bytes, long count, double until) {
    long held = 0;
    while (held < count) {
        bool is_late = false;
        ERR_clear_error();
        int result = SSL_read(tls, bytes + held, is_sipping ? 1 : (int)(count - held));
        if (result > 0) {
            held += result;
        } else if (!may_retry(result, until, &is_late)) {
            return -1;
        } else if (is_late) {
            break;
        }
    }
    return held;
}

// Pairing

static BN_CTX *numbers;
static EC_GROUP *curve;

static EC_POINT *point(const unsigned char *bytes, size_t count) {
    EC_POINT *point = EC_POINT_new(curve);
    if (EC_POINT_oct2point(curve, point, bytes, count, numbers) != 1) fail("point");
    return point;
}

static EC_POINT *constant(const char *hex) {
    EC_POINT *point = EC_POINT_new(curve);
    if (EC_POINT_hex2point(curve, hex, point, numbers) == NULL) fail("constant");
    return point;
}

static void fingerprint(X509 *certificate, unsigned char *digest) {
    unsigned char *bytes = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
    if (count <= 0) fail("fingerprint");
    SHA256(bytes, (size_t)count, digest);
    OPENSSL_free(bytes);
}

struct transcript {
    unsigned char bytes[1024];
    size_t count;
};

static void add(struct transcript *to, const void *bytes, size_t count) {
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void add_part(struct transcript *to, const void *bytes, size_t count) {
    unsigned char length[8] = {(unsigned char)count, (unsigned char)(count >> 8)};
    add(to, length, 8);
    add(to, bytes, count);
}

static void add_identity(struct transcript *to, const char *role, bool is_own) {
    unsigned char bytes[100], exported[32];
    size_t count = strlen(role) + 1;
    memcpy(bytes, role, count);
    fingerprint(is_own ? SSL_get_certificate(tls) : SSL_get0_peer_certificate(tls), bytes + count);
    SSL_export_keying_material(tls, exported, 32, "EXPORTER-Channel-Binding", 24, NULL, 0, 1);
    memcpy(bytes + count + 32, exported, 32);
    add_part(to, bytes, count + 64);
}

static void hmac(const unsigned char *key, int size, const void *bytes, size_t count, unsigned char *result) {
    unsigned length = 32;
    if (HMAC(EVP_sha256(), key, size, bytes, count, result, &length) == NULL) fail("hmac");
}

// HELLO_C, HELLO_S, with the mode in its place.
static unsigned char client_hello[14] = "\x01\x00\x0bPEER\x01\x01\x01\0\0\0", server_hello[13] = "\x02\x00\x0aPEER\x01\x01\0\0\0";

struct exchange {
    BIGNUM *w, *secret;
    EC_POINT *ours, *theirs_mask;
    unsigned char share[68];
    bool is_client;
};

// The frame with our share: PAIR_A or PAIR_B.
static struct exchange begin_exchange(const char *code) {
    struct exchange exchange = {.is_client = !is_server};
    unsigned char digits[8], stretched[48];
    size_t count = 0;
    for (; *code != 0 && count < 8; code++)
        if (*code >= '0' && *code <= '9') digits[count++] = (unsigned char)*code;
    const char *salt = "peer-pair-v1 scrypt";
    if (EVP_PBE_scrypt((char *)digits, count, (const unsigned char *)salt, strlen(salt), 1 << 14, 8, 1, 64 << 20, stretched, 48) != 1)
        fail("scrypt");
    const BIGNUM *order = EC_GROUP_get0_order(curve);
    BIGNUM *below = BN_dup(order), *wide = BN_bin2bn(stretched, 48, NULL);
    BN_sub_word(below, 1);
    exchange.w = BN_new();
    BN_mod(exchange.w, wide, below, numbers);
    BN_add_word(exchange.w, 1);
    exchange.secret = BN_new();
    BN_rand_range(exchange.secret, order);
    EC_POINT *m = constant("02886E2F97ACE46E55BA9DD7242579F2993B64E16EF3DCAB95AFD497333D8FA12F");
    EC_POINT *n = constant("03D8BBD6C639C62937B04D997F38C3770719C629D7014D49A24B4F98BAA1292B49");
    exchange.ours = EC_POINT_new(curve);
    EC_POINT_mul(curve, exchange.ours, exchange.secret, exchange.is_client ? m : n, exchange.w, numbers);
    exchange.theirs_mask = exchange.is_client ? n : m;
    memcpy(exchange.share, exchange.is_client ? "\x03\x00\x41" : "\x04\x00\x41", 3);
    EC_POINT_point2oct(curve, exchange.ours, POINT_CONVERSION_UNCOMPRESSED, exchange.share + 3, 65, numbers);
    return exchange;
}

// Both confirmations, from the other end's share.
static void finish_exchange(struct exchange *exchange, const unsigned char *theirs, unsigned char *of_a, unsigned char *of_b) {
    EC_POINT *other = point(theirs, 65), *masked = EC_POINT_new(curve), *shared = EC_POINT_new(curve);
    EC_POINT_mul(curve, masked, NULL, exchange->theirs_mask, exchange->w, numbers);
    EC_POINT_invert(curve, masked, numbers);
    EC_POINT_add(curve, masked, masked, other, numbers);
    EC_POINT_mul(curve, shared, NULL, masked, exchange->secret, numbers);
    unsigned char k[65], w[32], hellos[27], digest[32], zeros[32] = {0}, extracted[32], keys[32];
    EC_POINT_point2oct(curve, shared, POINT_CONVERSION_UNCOMPRESSED, k, 65, numbers);
    BN_bn2binpad(exchange->w, w, 32);
    struct transcript transcript = {.count = 0}, info = {.count = 0};
    add_identity(&transcript, "peer-pair-v1 client", exchange->is_client);
    add_identity(&transcript, "peer-pair-v1 server", !exchange->is_client);
    add_part(&transcript, exchange->is_client ? exchange->share + 3 : theirs, 65);
    add_part(&transcript, exchange->is_client ? theirs : exchange->share + 3, 65);
    add_part(&transcript, k, 65);
    add_part(&transcript, w, 32);
    SHA256(transcript.bytes, transcript.count, digest);
    memcpy(hellos, client_hello, 14), memcpy(hellos + 14, server_hello, 13);
    add(&info, "ConfirmationKeys", 16);
    add(&info, "peer-pair-v1", 13);
    SHA256(hellos, sizeof hellos, info.bytes + info.count);
    info.count += 32;
    info.bytes[info.count++] = 1;
    hmac(zeros, 32, digest + 16, 16, extracted);
    hmac(extracted, 32, info.bytes, info.count, keys);
    hmac(keys, 16, transcript.bytes, transcript.count, of_a);
    hmac(keys + 16, 16, transcript.bytes, transcript.count, of_b);
}

// A frame before READY: its body, where it is of the type.
static bool hear(unsigned char type, unsigned char *body, long size) {
    unsigned char header[3];
    long got = read_some(header, 3, now() + 20);
    if (got < 3) return got < 0 ? false : lost("silent");
    long length = header[1] << 8 | header[2];
    unsigned char bytes[65536];
    got = read_some(bytes, length, now() + 20);
    if (got < length) return got < 0 ? false : lost("silent");
    if (header[0] == 0x0f && length == 1) {
        snprintf(reason, sizeof reason, "abort %d", bytes[0]);
        return false;
    }
    if (header[0] != type || length != size) return lost("another frame");
    memcpy(body, bytes, (size_t)length);
    return true;
}

static bool say_share(struct exchange *exchange) {
    return write_all(is_server ? server_hello : client_hello, is_server ? 13 : 14) && write_all(exchange->share, 68);
}

static unsigned char theirs[65536];

// A server hears the client's share first.
static bool meet(struct exchange *exchange) {
    client_hello[9] = server_hello[8] = 1;
    return (!is_server || (hear(0x01, theirs, 11) && hear(0x03, theirs, 65))) && say_share(exchange);
}

static bool pair(const char *code) {
    struct exchange exchange = begin_exchange(code);
    unsigned char confirmation[2][35] = {"\x05\x00\x20", "\x06\x00\x20"}, other[32];
    if (!meet(&exchange)) return false;
    if (!is_server && !(hear(0x02, theirs, 10) && hear(0x04, theirs, 65))) return false;
    finish_exchange(&exchange, theirs, confirmation[0] + 3, confirmation[1] + 3);
    if (is_server) return hear(0x05, other, 32) && write_all(confirmation[1], 35) && hear(0x07, other, 0);
    return write_all(confirmation[0], 35) && hear(0x06, other, 32) && write_all((const unsigned char *)"\x07\0", 3);
}

static bool greet(int mode) {
    client_hello[9] = (unsigned char)mode;
    return write_all(client_hello, 14) && hear(0x02, theirs, 10);
}

static bool enter(int mode) { return greet(mode) && write_all((const unsigned char *)"\x07\0", 3); }

static bool welcome(void) {
    if (!hear(0x01, theirs, 11)) return false;
    server_hello[8] = theirs[6];
    return write_all(server_hello, 13) && hear(0x07, theirs, 0);
}

// KeyUpdates, many a write, until time is up or the other end has gone; whether it is still there.
static bool update(double seconds, long *count) {
    double end = now() + seconds;
    BIO *wire = SSL_get_wbio(tls), *pile = BIO_new(BIO_s_mem());
    bool is_there = true;
    BIO_up_ref(wire);
    SSL_set0_wbio(tls, pile);
    while (is_there && now() < end) {
        for (int number = 0; number < 512; number++, (*count)++)
            if (SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(tls) != 1) fail("update");
        char *bytes;
        long left = BIO_get_mem_data(pile, &bytes);
        while (left > 0 && now() < end && is_there) {
            char words[4096];
            ssize_t sent = send(connection, bytes, (size_t)left, MSG_NOSIGNAL);
            if (sent > 0) {
                bytes += sent;
                left -= sent;
            } else if (errno == EAGAIN) {
                wait_for(POLLOUT, end < now() + 0.2 ? end : now() + 0.2);
            } else {
                is_there = false;
            }
            // Data is ignored, except an error of the socket.
            ssize_t said = recv(connection, words, sizeof words, MSG_DONTWAIT);
            if (said < 0 && errno != EAGAIN) is_there = false;
        }
        BIO_reset(pile);
    }
    SSL_set0_wbio(tls, wire);
    return is_there;
}

// Commands

static bool read_frame(double seconds) {
    unsigned char header[5];
    long got = read_some(header, 5, now() + seconds);
    if (got == 0) {
        puts("silent");
        return true;
    }
    if (got < 5) return got < 0 ? false : lost("half a frame");
    long length = (long)header[1] << 24 | header[2] << 16 | header[3] << 8 | header[4];
    unsigned char *body = malloc((size_t)length + 1);
    got = read_some(body, length, now() + 20);
    if (got == length) {
        printf("frame %d %ld\n", header[0], length);
        fwrite(body, 1, (size_t)length, stdout);
    }
    free(body);
    return got == length || (got < 0 ? false : lost("half a frame"));
}

static unsigned char *following(size_t count) {
    unsigned char *bytes = malloc(count + 1);
    if (fread(bytes, 1, count, stdin) != count) exit(0);
    return bytes;
}

static bool send_bytes(size_t count) {
    unsigned char *bytes = following(count);
    bool is_there = tls != NULL && write_all(bytes, count);
    free(bytes);
    return is_there;
}

static unsigned char *binary(const char *hex) {
    unsigned char *bytes = OPENSSL_hexstr2buf(hex, NULL);
    if (bytes == NULL) fail("hexadecimal");
    return bytes;
}

static bool tell(const unsigned char *value) {
    printf("value ");
    for (int number = 0; number < 16; number++) printf("%02x", value[number]);
    puts("");
    return true;
}

static bool seal(const char *key, const char *nonce, size_t count) {
    unsigned char *bytes = following(count), *own = binary(key), *once = binary(nonce), tag[16];
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int length = 0;
    if (EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, own, once) != 1 ||
        EVP_EncryptUpdate(cipher, NULL, &length, bytes, (int)count) != 1 ||
        EVP_EncryptFinal_ex(cipher, tag, &length) != 1 || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, tag) != 1)
        fail("seal");
    EVP_CIPHER_CTX_free(cipher);
    OPENSSL_free(own), OPENSSL_free(once), free(bytes);
    return tell(tag);
}

static bool mark(const char *key, size_t count) {
    unsigned char *bytes = following(count), *own = binary(key), mark[16];
    size_t length = 16;
    OSSL_PARAM size[2] = {OSSL_PARAM_construct_size_t("size", &length), OSSL_PARAM_construct_end()};
    if (EVP_Q_mac(NULL, "SIPHASH", NULL, NULL, size, own, 16, bytes, count, mark, 16, &length) == NULL) fail("mark");
    OPENSSL_free(own), free(bytes);
    return tell(mark);
}

static bool listen_at(const char *address) {
    struct sockaddr_in own = {.sin_family = AF_INET};
    socklen_t size = sizeof own;
    inet_pton(AF_INET, address, &own.sin_addr);
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *)&own, size) < 0 || listen(listening, 16) < 0 ||
        getsockname(listening, (struct sockaddr *)&own, &size) < 0)
        fail("listen");
    is_server = true;
    printf("port %d\n", ntohs(own.sin_port));
    return true;
}

static bool inherit(int descriptor) {
    listening = descriptor;
    is_server = true;
    narrow(listening);
    return true;
}

static bool accept_one(void) {
    while (true) {
        struct pollfd one = {.fd = listening, .events = POLLIN};
        if (poll(&one, 1, 120000) <= 0) return lost("no connection");
        connection = accept(listening, NULL, NULL);
        if (connection < 0) return false;
        // A sender looks whether anything listens before it asks for a code: that connection ends
        // without any data.
        struct pollfd first = {.fd = connection, .events = POLLIN};
        char byte;
        if (poll(&first, 1, 10000) > 0 && recv(connection, &byte, 1, MSG_PEEK) == 1) return shake(now() + 10);
        close(connection);
        connection = -1;
    }
}

static bool answer(char *line) {
    char *word[4] = {strtok(line, " \n"), strtok(NULL, " \n"), strtok(NULL, " \n"), strtok(NULL, " \n")};
    char *command = word[0] == NULL ? "" : word[0], *value = word[1] == NULL ? "" : word[1];
    long count = 0;
    if (strcmp(command, "listen") == 0) return listen_at(value);
    if (strcmp(command, "seal") == 0) return seal(value, word[2], word[3] == NULL ? 0 : (size_t)atol(word[3]));
    if (strcmp(command, "mark") == 0) return mark(value, word[2] == NULL ? 0 : (size_t)atol(word[2]));
    if (strcmp(command, "read") == 0) return read_frame(atof(value));
    if (strcmp(command, "update") == 0) {
        double begun = now();
        bool is_there = update(atof(value), &count);
        printf("updates %ld %.3f %s\n", count, now() - begun, is_there ? "kept" : "dropped");
        return true;
    }
    bool is_fine = false;
    if (strcmp(command, "connect") == 0) is_fine = dial(value, word[2] == NULL ? 0 : atoi(word[2]), word[3]);
    if (strcmp(command, "inherit") == 0) is_fine = inherit(atoi(value));
    if (strcmp(command, "accept") == 0) is_fine = accept_one();
    if (strcmp(command, "pair") == 0) is_fine = pair(value);
    if (strcmp(command, "enter") == 0) is_fine = enter(atoi(value));
    if (strcmp(command, "send") == 0) is_fine = send_bytes((size_t)atol(value));
    if (strcmp(command, "hello") == 0) is_fine = greet(atoi(value));
    if (strcmp(command, "welcome") == 0) is_fine = welcome();
    if (strcmp(command, "narrow") == 0) is_fine = (kept = atoi(value)) > 0;
    if (strcmp(command, "crumble") == 0) is_fine = is_crumbling = true;
    if (strcmp(command, "sip") == 0) is_fine = is_sipping = true;
    if (strcmp(command, "close") == 0) is_fine = SSL_shutdown(tls) >= 0;
    if (strcmp(command, "share") == 0) {
        struct exchange exchange = begin_exchange(value);
        is_fine = meet(&exchange);
    }
    if (is_fine) printf("ok %.3f\n", now() - opened);
    return is_fine;
}

int main(int words, char **word) {
    if (words != 2) return 2;
    signal(SIGPIPE, SIG_IGN);
    key = identity(word[1]);
    numbers = BN_CTX_new();
    curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    char line[1000];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (!answer(line)) printf("gone %s\n", reason);
        fflush(stdout);
    }
    return 0;
}
