package import MigrationWire

/// What is to be transferred, as the sender has announced it.
public struct PeerOffer: Equatable, Sendable {
  /// What the files and folders are called. An app's data is called by the app's identifier.
  public let names: [PeerPath]
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// How much room the destination has; nil at the sender.
  public let availableBytes: UInt64?

  package init(_ offer: Offer, availableBytes: UInt64?) {
    names =
      switch offer.contents {
      case .folders(let roots): roots.map { PeerPath(bytes: $0.name) }
      case .app(let app): [PeerPath(app.bundleIdentifier)]
      }
    items = offer.items
    bytes = offer.bytes
    self.availableBytes = availableBytes
  }
}
