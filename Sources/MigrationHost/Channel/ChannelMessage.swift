package import MigrationWire

/// What the host says to an extension. Docs/Apps.md describes the conversation.
package enum HostMessage: Equatable, Sendable {
  /// Tell what you would export.
  case describe
  /// Export, for a platform and with options.
  case export(platform: String, options: [AppRequest.Option])
  /// Import what stands in a directory, and came from an app.
  case importItems(directory: [UInt8], from: AppIdentity)
  /// The answer to the oldest append that has none yet: nil if it worked.
  case appended(ReportedError?)
  /// End what you do; the appends from now on are answered with a cancellation.
  case cancel
}

/// What an extension says to its host.
package enum ExtensionMessage: Equatable, Sendable {
  /// It has started, and this is what it can do.
  case ready(ExtensionAbilities)
  case described(ExportDescription)
  /// Append an item. A file or a directory comes as a descriptor with this message.
  case append(AppendedItem)
  /// How far the import is, in millionths.
  case progress(UInt32)
  /// Something that the author should know, and that ends nothing.
  case notice(ExtensionNotice)
  /// The export or the import is over: nil if it worked.
  case ended(ReportedError?)
}

/// What an extension's author should know, found by the code that runs the extension.
package struct ExtensionNotice: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Nothing was seen of the import's progress until its end.
  package static let unmovedProgress = ExtensionNotice(rawValue: 1)

  /// A clause that can follow the extension's name; nil for a notice of a later edition.
  package var words: String? {
    switch self {
    case .unmovedProgress:
      "showed no progress of its import until the end: nothing that resourcesImportProgress returned has moved, and the "
        + "import made no Progress where it began (one that is made on the main actor is not seen)"
    default: nil
    }
  }
}

/// What an extension's type adopts.
package struct ExtensionAbilities: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let exports = ExtensionAbilities(rawValue: 1)
  package static let imports = ExtensionAbilities(rawValue: 2)
}

/// What an extension says of its export beforehand.
package struct ExportDescription: Equatable, Sendable {
  /// In bytes; negative only by the author's mistake.
  package let estimate: Int64
  package let version: String
  package let isCompressible: Bool

  package init(estimate: Int64, version: String, isCompressible: Bool) {
    self.estimate = estimate
    self.version = version
    self.isCompressible = isCompressible
  }
}

/// One item that an extension appends.
package struct AppendedItem: Equatable, Sendable {
  package enum Content: Equatable, Sendable {
    /// A file or a directory, whose descriptor comes along.
    case descriptor
    /// A symbolic link, which no descriptor can stand for.
    case symbolicLink(target: [UInt8], modified: ItemTime)
  }

  /// As the author gave it; not checked.
  package let path: [UInt8]
  package let content: Content

  package init(path: [UInt8], content: Content) {
    self.path = path
    self.content = content
  }
}
