"""TLS (Protocol.md §4.1): identities, settings, and calls of libssl that pyOpenSSL lacks."""

import ctypes
import datetime
import hashlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL, _util, crypto

GROUPS = b"X25519MLKEM768:X25519:P-256"


class Identity:
    """A P-256 key pair with a self-signed certificate."""

    def __init__(self):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "peer")])
        begin = datetime.datetime(2020, 1, 1)
        made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
                .not_valid_before(begin).not_valid_after(begin.replace(year=2120)).sign(key, hashes.SHA256()))
        self.key, self.certificate = crypto.PKey.from_cryptography_key(key), crypto.X509.from_cryptography(made)
        self.fingerprint = fingerprint(made.public_key())


def fingerprint(key):
    """SHA-256 of the DER SubjectPublicKeyInfo."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).digest()


def library():
    """The libssl that pyOpenSSL has loaded, for calls that pyOpenSSL lacks."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libssl" in line))


def pointer(of):
    return ctypes.c_void_p(int(_util.ffi.cast("uintptr_t", of)))


def context(identity, groups=GROUPS):
    made, ssl = SSL.Context(SSL.TLS_METHOD), library()
    made.set_min_proto_version(SSL.TLS1_3_VERSION)
    made.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    made.use_certificate(identity.certificate)
    made.use_privatekey(identity.key)
    made.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, lambda *_: True)
    raw = pointer(made._context)
    ssl.SSL_CTX_set_num_tickets(raw, ctypes.c_size_t(0))
    ssl.SSL_CTX_set_ciphersuites(raw, b"TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384")
    # SSL_CTRL_SET_GROUPS_LIST and SSL_CTRL_SET_SIGALGS_LIST. Old libraries lack the first group.
    if ssl.SSL_CTX_ctrl(raw, 92, ctypes.c_long(0), groups) != 1:
        ssl.SSL_CTX_ctrl(raw, 92, ctypes.c_long(0), groups.partition(b":")[2])
    ssl.SSL_CTX_ctrl(raw, 98, ctypes.c_long(0), b"ECDSA+SHA256")
    return made


def update_key(connection):
    """Updates the sending key, without asking the other end to do so."""
    if library().SSL_key_update(pointer(connection._ssl), 0) != 1:
        raise OSError("the sending key was not updated")
    # Sends it at once: a second update has to wait for that.
    connection.do_handshake()
