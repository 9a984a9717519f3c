/// Which end of a transfer a device is.
package enum Role: UInt8, Sendable {
  case sender = 1
  case receiver = 2
}

/// Abilities that an end uses only if both ends have them (Protocol §12).
package struct Features: OptionSet, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Can decode zstd.
  package static let zstd = Features(rawValue: 1)
  /// Accepts the other end's addresses.
  package static let addresses = Features(rawValue: 2)
  /// Can send, or take, pieces of a file from its earlier version.
  package static let bases = Features(rawValue: 4)
}

/// Protocol §6.1: an end introduces itself.
package struct Greeting: Equatable, Sendable {
  package let role: Role
  /// The device's name. The other end's name is escaped before it is shown.
  package var label: String
  package let software: String
  package var features: Features
  /// The app whose data the receiver wants.
  package var request: AppRequest?
  private var unknown = Fields()

  package init(role: Role, label: String, software: String, features: Features, request: AppRequest? = nil) {
    self.role = role
    self.label = label
    self.software = software
    self.features = features
    self.request = request
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the greeting"
    let fields = try Fields(bytes, range, of: subject)
    guard let role = Role(rawValue: try fields.requiredNumber(1, subject)) else { throw Violation(.unknown, subject) }
    self.role = role
    label = try fields.text(2, limit: Limits.label, subject)
    software = try fields.text(3, limit: Limits.software, subject)
    features = Features(
      rawValue: try fields.requiredNumber(4, subject))
    request = try fields.read(5, subject) { reader, bytes throws(Violation) in
      try AppRequest(bytes, try reader.take(reader.remaining))
    }
    if request != nil, role == .sender { throw Violation(.field, subject) }
    unknown = fields.unknown(besides: 1...5)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, [role.rawValue])
    fields.append(2, Array(label.utf8))
    fields.append(3, Array(software.utf8))
    fields.append(4) { $0.u64(features.rawValue) }
    if let request { fields.append(5) { request.write(to: &$0) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// The receiver's request for an app's data: the app's identity, the platform, and options for its
/// exporter.
package struct AppRequest: Equatable, Sendable {
  package struct Option: Equatable, Sendable {
    package let name: String
    package let value: [UInt8]

    package init(name: String, value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }

  package let bundleIdentifier: String
  package let platform: String
  /// In ascending order of their names' bytes.
  package let options: [Option]
  private var unknown = Fields()

  package init(bundleIdentifier: String, platform: String, options: [Option] = []) {
    self.bundleIdentifier = bundleIdentifier
    self.platform = platform
    self.options = options.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the request for an app"
    let fields = try Fields(bytes, range, of: subject)
    bundleIdentifier = try fields.text(1, limit: Limits.identifier, subject)
    platform = try fields.text(2, limit: Limits.identifier, subject)
    options = try fields.read(3, subject, Self.readOptions) ?? []
    if fields.value(3)?.isEmpty == true { throw Violation(.value, subject) }
    unknown = fields.unknown(besides: 1...3)
  }

  /// Reads what `writeOptions` wrote.
  package static func readOptions(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [Option] {
    let subject = "the options for an app"
    var options: [Option] = []
    while !reader.isAtEnd {
      guard let name = String(validating: try reader.stringBytes(bytes), as: UTF8.self),
        OptionNames.isValid(name), options.last.map({ $0.name.utf8.lexicographicallyPrecedes(name.utf8) }) ?? true
      else { throw Violation(.value, subject) }
      let value = try reader.string(bytes)
      guard value.count <= Limits.optionValue else { throw Violation(.limit, subject) }
      options.append(Option(name: name, value: [UInt8](copying: bytes.extracting(value))))
    }
    return options
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, Array(bundleIdentifier.utf8))
    fields.append(2, Array(platform.utf8))
    if !options.isEmpty { fields.append(3) { writeOptions(to: &$0) } }
    fields.write(with: unknown, to: &writer)
  }

  /// Writes only the options.
  package func writeOptions(to writer: inout ByteWriter) {
    for option in options {
      writer.string(Array(option.name.utf8))
      writer.string(option.value)
    }
  }
}

/// The names of options for an app's exporter: a list of strings, ascending.
package enum OptionNames {
  /// The names in the order of their bytes; nil if they are too many or too long to be listed.
  package static func list(_ names: some Sequence<String>) -> [String]? {
    var names = Set(names.prefix(Limits.optionNames + 1))
    names.remove("")
    guard names.count <= Limits.optionNames, names.allSatisfy(isValid) else { return nil }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Reads the names that `write` wrote.
  package static func read(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [String] {
    try reader.names(of: "the names of options", bytes, atMost: Limits.optionNames, where: isValid)
  }

  /// Whether an option can have this name.
  fileprivate static func isValid(_ name: String) -> Bool { (1...Limits.name).contains(name.utf8.count) }

  /// Writes names in ascending order.
  package static func write(_ names: [String], to writer: inout ByteWriter) { writer.names(names) }
}
