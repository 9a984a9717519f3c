#pragma once

#include <stdlib.h>
#include <sys/mman.h>

// Nothing that OpenSSL 3.0 calls deprecated is visible to this project.
#ifndef OPENSSL_API_COMPAT
#define OPENSSL_API_COMPAT 30000
#endif
#ifndef OPENSSL_NO_DEPRECATED
#define OPENSSL_NO_DEPRECATED
#endif

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

// Swift sees functions and plain integer macros. The following lines give a function or a constant
// to the other macros that are needed, one to one: `peer_X` is `X`.

// SSL_OP_*

static const uint64_t peer_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t peer_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t peer_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t peer_SSL_OP_CIPHER_SERVER_PREFERENCE = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t peer_SSL_OP_PRIORITIZE_CHACHA = SSL_OP_PRIORITIZE_CHACHA;
static const uint64_t peer_SSL_OP_IGNORE_UNEXPECTED_EOF = SSL_OP_IGNORE_UNEXPECTED_EOF;
static const uint64_t peer_SSL_OP_ENABLE_KTLS = SSL_OP_ENABLE_KTLS;
static const uint64_t peer_SSL_OP_ALLOW_NO_DHE_KEX = SSL_OP_ALLOW_NO_DHE_KEX;

// SSL_CTX_*

static inline int peer_SSL_CTX_set_min_proto_version(SSL_CTX *ctx, int version) {
  return (int)SSL_CTX_set_min_proto_version(ctx, version);
}

static inline int peer_SSL_CTX_set_max_proto_version(SSL_CTX *ctx, int version) {
  return (int)SSL_CTX_set_max_proto_version(ctx, version);
}

static inline int peer_SSL_CTX_get_min_proto_version(SSL_CTX *ctx) {
  return (int)SSL_CTX_get_min_proto_version(ctx);
}

static inline int peer_SSL_CTX_get_max_proto_version(SSL_CTX *ctx) {
  return (int)SSL_CTX_get_max_proto_version(ctx);
}

static inline int peer_SSL_CTX_set1_groups_list(SSL_CTX *ctx, const char *list) {
  return (int)SSL_CTX_set1_groups_list(ctx, list);
}

static inline int peer_SSL_CTX_set1_sigalgs_list(SSL_CTX *ctx, const char *list) {
  return (int)SSL_CTX_set1_sigalgs_list(ctx, list);
}

static inline int peer_SSL_CTX_set1_client_sigalgs_list(SSL_CTX *ctx, const char *list) {
  return (int)SSL_CTX_set1_client_sigalgs_list(ctx, list);
}

static inline long peer_SSL_CTX_set_mode(SSL_CTX *ctx, long mode) { return SSL_CTX_set_mode(ctx, mode); }

static inline long peer_SSL_CTX_get_mode(SSL_CTX *ctx) { return SSL_CTX_get_mode(ctx); }

static inline long peer_SSL_CTX_set_session_cache_mode(SSL_CTX *ctx, long mode) {
  return SSL_CTX_set_session_cache_mode(ctx, mode);
}

static inline long peer_SSL_CTX_get_session_cache_mode(SSL_CTX *ctx) { return SSL_CTX_get_session_cache_mode(ctx); }

static inline long peer_SSL_CTX_set_max_cert_list(SSL_CTX *ctx, long bytes) {
  return SSL_CTX_set_max_cert_list(ctx, bytes);
}

static inline long peer_SSL_CTX_set_read_ahead(SSL_CTX *ctx, int on) { return SSL_CTX_set_read_ahead(ctx, on); }

static inline int peer_SSL_CTX_get_read_ahead(SSL_CTX *ctx) { return (int)SSL_CTX_get_read_ahead(ctx); }

// BIO_*

static inline void peer_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void peer_BIO_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

static inline void peer_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

// X509, EVP, BN

// SSL_*

static inline void peer_SSL_set_msg_callback_arg(SSL *ssl, void *argument) { SSL_set_msg_callback_arg(ssl, argument); }

static inline int peer_sk_X509_num(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }

static inline EVP_PKEY *peer_EVP_EC_gen(const char *curve) { return EVP_EC_gen(curve); }

static inline EVP_PKEY *peer_EVP_RSA_gen(unsigned int bits) { return EVP_RSA_gen(bits); }

static inline int peer_BN_mod(BIGNUM *remainder, const BIGNUM *number, const BIGNUM *modulus, BN_CTX *ctx) {
  return BN_mod(remainder, number, modulus, ctx);
}

// OpenSSL's memory

static inline void *peer_allocate(size_t count, const char *file, int line) {
  (void)file, (void)line;
  const size_t large = 2 << 20;
  void *memory;
  if (count < 4 * large) return malloc(count);
  if (posix_memalign(&memory, large, count) != 0) return NULL;
  madvise(memory, count, MADV_HUGEPAGE);
  return memory;
}

static inline void *peer_reallocate(void *memory, size_t count, const char *file, int line) {
  (void)file, (void)line;
  return realloc(memory, count);
}

static inline void peer_free(void *memory, const char *file, int line) {
  (void)file, (void)line;
  free(memory);
}

/// Asks the kernel for pages of 2 MiB where OpenSSL needs much memory: scrypt touches 16 MiB in no
/// order. Has an effect only before the first use of OpenSSL.
static inline void peer_use_large_pages(void) { CRYPTO_set_mem_functions(peer_allocate, peer_reallocate, peer_free); }

/// Whether this processor multiplies for AES-GCM in hardware: AES rounds and carry-less
/// multiplication, both.
static inline int peer_cpu_has_aes_gcm(void) {
#if defined(__x86_64__)
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_AES) && (c & bit_PCLMUL);
#elif defined(__aarch64__)
  const unsigned long aes = 1UL << 3, pmull = 1UL << 4;
  const unsigned long wanted = aes | pmull;
  return (getauxval(AT_HWCAP) & wanted) == wanted;
#else
  return 0;
#endif
}
