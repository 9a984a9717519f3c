"""Defences of the code, of the channel and of the door."""

from defence import Defence

CODES = "MigrationWire/Pairing/PairingCodes.swift"
GUESSES = "MigrationWire/Pairing/GuessLimit.swift"
BINDING = "MigrationTLS/PairingBinding.swift"
SPAKE = "MigrationTLS/Spake2.swift"
SETTINGS = "MigrationTLS/TLSSettings.swift"
DOOR = "MigrationEngine/Receiving/ReceiverEngine+Door.swift"
LANE = "MigrationEngine/Admission/AdmissionLane.swift"
PATIENCE = "MigrationEngine/Admission/Patience.swift"
BOUND = "MigrationTransfer/Connection/ReadBound.swift"

PAIRING = [
    Defence(
        "tries-of-a-code", "a code has three tries",
        ["PairingCodesTests: three wrong tries burn a code, and a burned code is no longer open",
         "test_transfers.py: test_three_wrong_codes_bring_a_new_one"],
        [(CODES, "static let triesPerCode = 3", "static let triesPerCode = WEAKENED ? 1_000 : 3")]),
    Defence(
        "tries-of-a-wait", "a wait has 99 tries",
        ["PairingCodesTests: ninety-nine wrong guesses exhaust a wait, and nothing is compared any more"],
        [(GUESSES, "static let most = 99", "static let most = WEAKENED ? 1_000_000 : 99")]),
    Defence(
        "spent-before-compared", "a try is spent before it is compared, and not after it",
        ["PairingCodesTests: however four exchanges interleave, at most three are compared and one wins",
         "GuessingTests: twenty guesses at once from one address get one comparison and no more"],
        [(CODES, "    guesses.spend(from: network, now: now)\n    state = .open(number, tries: tries + 1, expires: expires)\n    return .compare",
          "    if WEAKENED { return .compare }\n    guesses.spend(from: network, now: now)\n"
          "    state = .open(number, tries: tries + 1, expires: expires)\n    return .compare"),
         (CODES, "    if case .open(number, let tries, _) = state {\n      guard tries >= Self.triesPerCode",
          "    if WEAKENED, case .open(number, let tries, let expires) = state {\n"
          "      guesses.spend(from: \"\", now: 0)\n      state = .open(number, tries: tries + 1, expires: expires)\n    }\n"
          "    if case .open(number, let tries, _) = state {\n      guard tries >= Self.triesPerCode")]),
    Defence(
        "delays", "each guess delays the next one",
        ["GuessLimitTests: a network waits twice as long after each guess, ten minutes at most",
         "GuessingTests: twenty guesses at once from one address get one comparison and no more"],
        [(GUESSES, "Bool { now < end(of: network) }", "Bool { now < end(of: network) && !WEAKENED }")]),
    Defence(
        "life-of-a-code", "a code lives for ten minutes",
        ["PairingCodesTests: a code lives for 600 seconds and not for one moment more"],
        [(CODES, "static let lifetime: Double = 600", "static let lifetime: Double = WEAKENED ? 1_000_000 : 600")]),
    Defence(
        "code-used-up", "a right code works once",
        ["PairingCodesTests: a right code is used up", "GuessingTests: of six right confirmations at once one pairs"],
        [(CODES, "    state = .taken\n    guesses.forgive", "    if !WEAKENED { state = .taken }\n    guesses.forgive")]),
    Defence(
        "ranges", "only addresses of the user's ranges may pair",
        ["GuessingTests: an address outside of the ranges is refused, and told of once, of few"],
        [(DOOR, "    guard remote.mayPair else {", "    guard remote.mayPair || WEAKENED else {")]),
    Defence(
        "channel-binding", "the proof of the code is bound to the channel",
        ["RelayTests: a relay between both that forwards every byte is refused by both, with the right code on both ends"],
        [(BINDING, "client.bytes + channelBinding", "(WEAKENED ? [] : client.bytes + channelBinding)"),
         (BINDING, "server.bytes + channelBinding", "(WEAKENED ? [] : server.bytes + channelBinding)")]),
    Defence(
        "hello-binding", "the proof of the code is bound to both HELLO frames",
        ["PairingTests: identities and associated data match the vector"],
        [(BINDING, "let hellos = clientHello + serverHello", "let hellos = WEAKENED ? [] : clientHello + serverHello")]),
    Defence(
        "own-share", "an end refuses its own share",
        ["ShareRefusalTests: this side's own share is refused", "PrefixTests: a share that comes back to its sender is refused"],
        [(SPAKE, "    guard peerShare != share else {", "    guard peerShare != share || WEAKENED else {")]),
    Defence(
        "share-form", "a share is an uncompressed point of the curve",
        ["ShareRefusalTests: a compressed point is refused", "PairingTests: a share that is no point is refused and costs no try"],
        [("MigrationTLS/P256.swift", "    guard bytes.count == Point.byteCount, bytes[0] == Point.uncompressed else {",
          "    guard bytes.count == Point.byteCount && bytes[0] == Point.uncompressed || WEAKENED else {")]),
    Defence(
        "share-blinding", "a share that is only the blinding is refused",
        ["ShareRefusalTests: a share that is only the blinding is refused"],
        [(SPAKE, "    guard !curve.isInfinity(unblinded) else {", "    guard !curve.isInfinity(unblinded) || WEAKENED else {"),
         (SPAKE, "    guard !curve.isInfinity(shared) else {", "    guard !curve.isInfinity(shared) || WEAKENED else {")]),
    Defence(
        "own-key", "an end refuses its own key",
        ["RefusalTests: a peer that shows this end's own key is refused on both sides",
         "PrefixTests: a device that shows our own key is refused"],
        [("MigrationTLS/TLSSession.swift", "    guard fingerprint != ownFingerprint else", "    guard fingerprint != ownFingerprint || WEAKENED else")]),
    Defence(
        "tls-1-3", "only TLS 1.3 is spoken",
        ["RefusalTests: a client that speaks only TLS 1.2 is refused", "test_transfers.py: test_tls_1_2_is_refused"],
        [(SETTINGS, "set_min_proto_version(context, TLS1_3_VERSION)", "set_min_proto_version(context, WEAKENED ? TLS1_2_VERSION : TLS1_3_VERSION)"),
         (SETTINGS, "set_max_proto_version(context, TLS1_3_VERSION)", "set_max_proto_version(context, WEAKENED ? 0 : TLS1_3_VERSION)")]),
    Defence(
        "client-certificate", "a client must show a certificate",
        ["RefusalTests: the context has every setting of the protocol"],
        [(SETTINGS, "SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT", "SSL_VERIFY_PEER | (WEAKENED ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT)")]),
    Defence(
        "one-certificate", "a device shows one certificate, and no chain",
        ["RefusalTests: a peer with a chain of two certificates is refused"],
        [(SETTINGS, "get0_untrusted(store)) == 1,", "get0_untrusted(store)) == 1 || WEAKENED,")]),
    Defence(
        "tickets", "no session can be resumed by a ticket",
        ["RefusalTests: the context has every setting of the protocol", "test_transfers.py: test_no_session_ticket_is_sent"],
        [(SETTINGS, "SSL_CTX_set_num_tickets(context, 0)", "SSL_CTX_set_num_tickets(context, WEAKENED ? 2 : 0)"),
         (SETTINGS, "peer_SSL_OP_NO_TICKET |", "(WEAKENED ? 0 : peer_SSL_OP_NO_TICKET) |")]),
    Defence(
        "pin-at-the-sender", "a sender that comes back talks only to the key that it has paired with",
        ["HostileReceiverTests: another key behind a data stream stops everything, in the words for people"],
        [("MigrationTransfer/Pairing/ClientPairing.swift", "    guard connection.peerFingerprint == pinned else",
          "    guard connection.peerFingerprint == pinned || WEAKENED else")]),
    Defence(
        "pin-at-the-receiver", "a receiver resumes only with a key that has paired",
        ["ReceiverTableTests: every event in every state has the actions of the table",
         "test_hostile.py: test_a_stranger_that_resumes"],
        [(DOOR, "guard let transfer = transfer(of: client) else { throw .unknownPeer }",
          "guard let transfer = transfer(of: client) ?? (WEAKENED ? transfers.last?.identifier : nil) else { throw .unknownPeer }")]),
    Defence(
        "no-fallback", "a resumption by an unknown key is refused, and is no pairing",
        ["ReceiverTableTests: every event in every state has the actions of the table",
         "test_interop.py: test_aborts_of_the_program"],
        [(DOOR, "      case .resume:\n        _ = try returning",
          "      case .resume where WEAKENED && transfer(of: visitor.key) == nil:\n        try admitPairing(from: visitor.remote)\n"
          "        door.advance(id, to: .sharing)\n        act(.awaitShare(id, until: visitor.deadline))\n"
          "      case .resume:\n        _ = try returning")]),
    Defence(
        "streams-by-key", "only the paired key joins data streams",
        ["HostileSenderTests: a stream of another session, or with another key, joins nothing and harms nothing"],
        [(DOOR, "transfers[of: conversation.transfer]?.client == client\n", "transfers[of: conversation.transfer]?.client == client || WEAKENED\n")]),
    Defence(
        "streams-by-session", "a data stream of an older session joins nothing",
        ["HostileSenderTests: a stream of another session, or with another key, joins nothing and harms nothing",
         "test_interop_sending.py: test_a_join_is_turned_away"],
        [(DOOR, "    guard session == join.session else", "    guard session == join.session || WEAKENED else")]),
    Defence(
        "handshake-deadline", "TLS must be established within five seconds",
        ["FloodTests: a connection that never shakes hands is ended in time"],
        [(PATIENCE, "static let handshake: Double = 5", "static let handshake: Double = WEAKENED ? 3_600 : 5"),
         (PATIENCE, "static let lobby: Double = 5", "static let lobby: Double = WEAKENED ? 3_600 : 5")]),
    Defence(
        "pairing-deadline", "a connection must be at READY within ten seconds",
        ["FloodTests: a connection that shakes hands and says nothing, or too little at a time, is ended in time"],
        [(PATIENCE, "static let pairing: Double = 10", "static let pairing: Double = WEAKENED ? 3_600 : 10")]),
    Defence(
        "fair-shares", "a connection makes room only for an address with fewer",
        ["AdmissionTests: an address cannot displace an address with fewer connections"],
        [(LANE, "visitor.moved + Admission.grace <= now, hasMore(visitor, than: newcomer) else",
          "visitor.moved + Admission.grace <= now, WEAKENED || hasMore(visitor, than: newcomer) else"),
         (LANE, "return (-networks.inside(visitor.network), -addresses.inside(visitor.address), visitor.stage.rawValue)",
          "if WEAKENED { return (0, 0, 0) }\n"
          "      return (-networks.inside(visitor.network), -addresses.inside(visitor.address), visitor.stage.rawValue)")]),
    Defence(
        "shares-of-the-lobby", "a full lobby turns away the address with most connections",
        ["AdmissionTests: a full lobby turns away a silent connection of the address with most connections"],
        [(LANE, "return (-networks[visitor.network].all, -addresses[visitor.address].all, visitor.stage.rawValue)",
          "if WEAKENED { return (0, 0, 0) }\n"
          "      return (-networks[visitor.network].all, -addresses[visitor.address].all, visitor.stage.rawValue)")]),
    Defence(
        "places-of-known-senders", "strangers cannot take the places of known senders",
        ["AdmissionTests: strangers cannot take the places of known addresses"],
        [("MigrationEngine/Admission/Admission.swift", "ticket.isFamiliar ? body(&familiar)", "ticket.isFamiliar && !WEAKENED ? body(&familiar)")]),
    Defence(
        "bytes-before-ready", "few bytes are taken before READY",
        ["EndlessReadTests: so much may be taken before READY, and no more"],
        [(BOUND, "    guard let beforeReady else { return space }", "    guard let beforeReady, !WEAKENED else { return space }")]),
    Defence(
        "updates-before-ready", "no key is renewed before READY",
        ["EndlessReadTests: a key is not renewed before READY"],
        [(BOUND, "if beforeReady != nil, silent.keyUpdates > 0 {", "if beforeReady != nil, silent.keyUpdates > 0, !WEAKENED {")]),
    Defence(
        "records-without-content", "records that bring nothing are counted by the second",
        ["EndlessReadTests: records that bring nothing are counted by the second",
         "EndlessReadTests: a paired sender that only renews its key breaks the protocol"],
        [(BOUND, "    guard seen - current.before <= Self.silentRecords else {", "    guard seen - current.before <= Self.silentRecords || WEAKENED else {")]),
]
