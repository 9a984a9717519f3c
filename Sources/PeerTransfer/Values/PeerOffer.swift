package import MigrationWire

/// The contents of a transfer, as the sender has announced them.
public struct PeerOffer: Equatable, Sendable {
  /// The names of the files and folders. An app's data has the app's identifier as its name.
  public let names: [PeerPath]
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// The free space at the destination; nil on the sender.
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
