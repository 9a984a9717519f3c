/// The progress of a handshake.
package enum HandshakeStep: Sendable, Equatable {
  /// The session is established; output may still be pending.
  case finished
  /// The handshake needs more ciphertext. Output may be pending, and the peer may wait for it.
  case needsInput
}

/// The result of a read.
package enum ReadStep: Sendable, Equatable {
  /// This many bytes of plaintext, at least one; there may be more.
  case bytes(Int)
  /// All plaintext that has arrived is read.
  case needsInput
  /// The peer has sent its close_notify and will send nothing more.
  case closed
}

/// The result of a write.
package enum WriteStep: Sendable, Equatable {
  /// This many bytes of plaintext were taken, from the front; output is pending.
  case bytes(Int)
  /// None were taken: pending output has to be sent first.
  case full
  /// None were taken: ciphertext has to come first.
  case needsInput
}
