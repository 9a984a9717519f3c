// Code that the attacking programs share: a key, its certificate, and TLS 1.3 as Protocol.md §4.1
// has it.

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static X509 *new_certificate(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 365 * 86400);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"peer", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    if (X509_sign(certificate, key, EVP_sha256()) == 0) fail("certificate");
    return certificate;
}

// Certificates are sent, and not judged.
static int take_all(int is_fine, X509_STORE_CTX *store) {
    (void)is_fine, (void)store;
    return 1;
}

static SSL_CTX *new_context(bool is_server, EVP_PKEY *key) {
    SSL_CTX *context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) fail("context");
    if (SSL_CTX_use_certificate(context, new_certificate(key)) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
        fail("identity");
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, take_all);
    return context;
}
