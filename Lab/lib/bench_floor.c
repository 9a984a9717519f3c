// Moves a folder over encrypted connections and does only the work itself: the floor of
// Lab/bench.
//
//   floor receive FOLDER STREAMS     prints its port, and writes the received files into FOLDER
//   floor send FOLDER STREAMS PORT
//
// The sender walks the folder, reads every file, computes its check (Protocol.md, §9.3), and seals
// the bytes with AES-128-GCM in records like those of TLS 1.3. The receiver opens and checks them,
// creates the files with their modes, writes them and sets their times. One thread per connection
// does all of that, in pieces that stay in its cache. Keys are fixed, checks are made and not
// compared, and nothing is recorded, synced, resumed or confirmed; links, attributes and the modes of
// folders are left out.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "CSystem.h"

enum { RECORD = 16 << 10, OVERHEAD = 5 + 1 + 16, PIECE = 256 << 10, ROOM = PIECE + PIECE / 4, RANGE = 1 << 20, MOST_STREAMS = 16 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Comes before a name and a range of the file's content; a folder is that of the files that follow.
struct header {
    uint32_t mode, name_length;
    uint64_t offset, length;
    struct timespec modified;
};

// The whole of a folder's files, or a range of a large one.
struct work {
    char *folder, *name;
    uint64_t offset;
};

static int root, place;  // The folder; the listening socket of a receiver, the port of a sender.

static struct work *works;
static size_t work_count, work_room, next_work;
static int busy;  // How many threads may still find more.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

// A thread's state for its connection.
static _Thread_local EVP_CIPHER_CTX *records;
static _Thread_local uint64_t record_number;
static _Thread_local unsigned char plain[ROOM + RECORD], sealed[ROOM];
static _Thread_local size_t filled;  // Of what is plain.
static _Thread_local int connection, folder = -1, file = -1;
static _Thread_local struct header current;  // Of the file that is written: where, and how much is left.

static EVP_CIPHER_CTX *keyed(unsigned char first, bool is_sealing) {
    unsigned char key[16] = {first};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_CipherInit_ex(context, EVP_aes_128_gcm(), NULL, key, NULL, is_sealing) != 1) fail("cipher");
    return context;
}

// Each record has the next number as its nonce.
static void begin_record(const unsigned char *header) {
    uint64_t nonce[2] = {0, htobe64(record_number++)};
    int done;
    EVP_CipherInit_ex(records, NULL, NULL, NULL, (unsigned char *)nonce + 4, -1);
    EVP_CipherUpdate(records, NULL, &done, header, 5);
}

static size_t seal(const unsigned char *bytes, size_t count, unsigned char *record) {
    int done;
    memcpy(record, (unsigned char[]){23, 3, 3, (unsigned char)((count + 17) >> 8), (unsigned char)(count + 17)}, 5);
    begin_record(record);
    EVP_CipherUpdate(records, record + 5, &done, bytes, (int)count);
    EVP_CipherUpdate(records, record + 5 + count, &done, (unsigned char[]){23}, 1);
    EVP_CipherFinal_ex(records, record + 6 + count, &done);
    EVP_CIPHER_CTX_ctrl(records, EVP_CTRL_AEAD_GET_TAG, 16, record + 6 + count);
    return count + OVERHEAD;
}

static void open_record(unsigned char *record, size_t count, unsigned char *bytes) {
    unsigned char kind = 0;
    int done;
    begin_record(record);
    EVP_CipherUpdate(records, bytes, &done, record + 5, (int)count);
    EVP_CipherUpdate(records, &kind, &done, record + 5 + count, 1);
    EVP_CIPHER_CTX_ctrl(records, EVP_CTRL_AEAD_SET_TAG, 16, record + 6 + count);
    if (EVP_CipherFinal_ex(records, bytes, &done) != 1 || kind != 23) fail("record");
}

static void check(const unsigned char *bytes, size_t count) {
    uint32_t lanes[3];
    csystem_check_lanes(bytes, count, 0, lanes);
}

// The sender

static void add(char *path, const char *name, uint64_t offset) {
    pthread_mutex_lock(&lock);
    if (work_count == work_room) works = realloc(works, (work_room = 2 * work_room + 1024) * sizeof *works);
    if (works == NULL) fail("memory");
    works[work_count++] = (struct work){path, name == NULL ? NULL : strdup(name), offset};
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void walk(char *path) {
    DIR *entries = fdopendir(openat(root, path, O_RDONLY | O_DIRECTORY));
    if (entries == NULL) fail(path);
    add(path, NULL, 0);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char *below;
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) fail("memory");
        walk(below);
    }
    closedir(entries);
}

// This thread has finished its share.
static void rest(void) {
    pthread_mutex_lock(&lock);
    busy--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static bool take(struct work *work) {
    rest();
    pthread_mutex_lock(&lock);
    while (next_work == work_count && busy > 0) pthread_cond_wait(&changed, &lock);
    bool is_found = next_work < work_count;
    if (is_found) *work = works[next_work++], busy++;
    pthread_mutex_unlock(&lock);
    return is_found;
}

static void flush(void) {
    size_t count = 0;
    for (size_t at = 0; at < filled; at += RECORD)
        count += seal(plain + at, filled - at < RECORD ? filled - at : RECORD, sealed + count);
    if (send(connection, sealed, count, MSG_NOSIGNAL) != (ssize_t)count) fail("send");
    filled = 0;
}

static void announce(struct header header, const char *name) {
    header.name_length = (uint32_t)strlen(name);
    if (filled + sizeof header + header.name_length > PIECE) flush();
    memcpy(plain + filled, &header, sizeof header);
    memcpy(plain + filled + sizeof header, name, header.name_length);
    filled += sizeof header + header.name_length;
}

static void send_range(char *path, const char *name, uint64_t offset) {
    struct stat status;
    int from = openat(folder, name, O_RDONLY | O_NOFOLLOW);
    if (from < 0 || fstat(from, &status) < 0) fail(name);
    uint64_t size = (uint64_t)status.st_size, left = size - offset < RANGE ? size - offset : RANGE;
    for (uint64_t more = RANGE; offset == 0 && more < size; more += RANGE) add(path, name, more);
    announce((struct header){status.st_mode, 0, offset, left, status.st_mtim}, name);
    while (left > 0) {
        if (filled == PIECE) flush();
        ssize_t count = pread(from, plain + filled, PIECE - filled < left ? PIECE - filled : left, (off_t)offset);
        if (count <= 0) fail(name);
        check(plain + filled, (size_t)count);
        filled += (size_t)count, offset += (uint64_t)count, left -= (uint64_t)count;
    }
    close(from);
}

static void send_folder(char *path) {
    DIR *entries = fdopendir(dup(folder));
    if (entries == NULL) fail(path);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_type == DT_REG) send_range(path, entry->d_name, 0);
    closedir(entries);
}

static void *send_stream(void *unused) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)place), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    records = keyed(1, true);
    connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    for (struct work work; take(&work);) {
        if ((folder = openat(root, work.folder, O_RDONLY | O_DIRECTORY)) < 0) fail(work.folder);
        announce((struct header){.mode = S_IFDIR}, work.folder);
        if (work.name == NULL) send_folder(work.folder);
        if (work.name != NULL) send_range(work.folder, work.name, work.offset);
        close(folder);
    }
    flush();
    shutdown(connection, SHUT_WR);
    // The other end closes when all is written.
    if (recv(connection, plain, 1, 0) != 0) fail("end");
    return unused;
}

// The receiver

static void make_folder(char *path) {
    if (mkdirat(root, path, 0755) == 0 || errno != ENOENT) return;
    // Another stream may bring the folder above it later.
    char *end = strrchr(path, '/');
    *end = 0;
    make_folder(path);
    *end = '/';
    mkdirat(root, path, 0755);
}

static void start(char *name) {
    if (S_ISDIR(current.mode)) {
        if (folder >= 0) close(folder);
        make_folder(name);
        folder = openat(root, name, O_RDONLY | O_DIRECTORY);
    } else {
        file = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW, current.mode & 07777);
    }
    if (folder < 0 || (file < 0 && !S_ISDIR(current.mode))) fail(name);
}

static void write_some(const unsigned char *bytes, size_t count) {
    check(bytes, count);
    if (pwrite(file, bytes, count, (off_t)current.offset) != (ssize_t)count) fail("write");
    current.offset += count, current.length -= count;
}

// Processes as many of the plain bytes as possible; returns how many were used.
static size_t consume(void) {
    for (size_t at = 0;;) {
        if (file >= 0) {
            size_t some = filled - at < current.length ? filled - at : current.length;
            if (some > 0) write_some(plain + at, some);
            at += some;
            if (current.length > 0) return at;
            futimens(file, (struct timespec[]){current.modified, current.modified});
            close(file);
            file = -1;
        }
        if (filled - at < sizeof current) return at;
        memcpy(&current, plain + at, sizeof current);
        if (filled - at - sizeof current < current.name_length) return at;
        char name[current.name_length + 1];
        memcpy(name, plain + at + sizeof current, current.name_length);
        name[current.name_length] = 0;
        at += sizeof current + current.name_length;
        start(name);
    }
}

static void *receive_stream(void *unused) {
    records = keyed(1, false);
    if ((connection = accept(place, NULL, NULL)) < 0) fail("accept");
    size_t held = 0;
    for (ssize_t count; (count = recv(connection, sealed + held, ROOM - held, 0)) != 0;) {
        if (count < 0) fail("receive");
        size_t at = 0, length;
        for (held += (size_t)count; held - at >= 5; at += 5 + length) {
            length = (size_t)sealed[at + 3] << 8 | sealed[at + 4];
            if (held - at - 5 < length) break;
            open_record(sealed + at, length - 17, plain + filled);
            filled += length - 17;
        }
        memmove(sealed, sealed + at, held -= at);
        size_t used = consume();
        memmove(plain, plain + used, filled -= used);
    }
    if (file >= 0 || filled > 0 || held > 0) fail("end");
    close(connection);
    return unused;
}

static void listen_here(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    place = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(place, (struct sockaddr *)&address, length) < 0 || listen(place, MOST_STREAMS) < 0 ||
        getsockname(place, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

int main(int count, char **words) {
    int streams = count > 3 ? atoi(words[3]) : 0;
    bool is_sending = count == 5 && strcmp(words[1], "send") == 0, is_receiving = count == 4 && strcmp(words[1], "receive") == 0;
    if ((!is_sending && !is_receiving) || streams < 1 || streams > MOST_STREAMS) return 2;
    if ((root = open(words[2], O_RDONLY | O_DIRECTORY)) < 0) fail(words[2]);
    umask(0);
    busy = streams + 1;
    if (is_sending) place = atoi(words[4]);
    if (is_receiving) listen_here();
    pthread_t threads[MOST_STREAMS];
    for (int number = 0; number < streams; number++)
        if (pthread_create(&threads[number], NULL, is_sending ? send_stream : receive_stream, NULL) != 0) fail("thread");
    if (is_sending) walk("."), rest();
    for (int number = 0; number < streams; number++) pthread_join(threads[number], NULL);
    return 0;
}
