/// Names the source of a root for good: an opaque number that the sender chooses (Protocol §6.2).
package struct SourceIdentity: Hashable, Sendable {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// Stands for a source that nothing tells from others: each transfer treats it as new.
  package static let unknown = SourceIdentity(0)
}

/// One root of a part.
package struct Root: Equatable, Sendable {
  package let kind: ItemKind
  /// A single valid component; a key, where the part has an identifier.
  package let name: [UInt8]

  package init(kind: ItemKind, name: [UInt8]) {
    self.kind = kind
    self.name = name
  }
}

/// The path of a folder of the sender's user on the sender's device: the home, or a folder of its role.
package struct HomePath: Equatable, Sendable {
  package let key: [UInt8]
  /// Absolute.
  package let path: [UInt8]

  package init(key: [UInt8], path: [UInt8]) {
    self.key = key
    self.path = path
  }

  /// Whether it can be told.
  fileprivate var isValid: Bool {
    Part.isKey(key) && path.first == UInt8(ascii: "/") && path.count <= Limits.homePath && !path.contains(0)
  }
}

/// An app's identity, as its sender states it.
package struct AppIdentity: Equatable, Sendable {
  package let bundleIdentifier: String
  package let store: String
  package let platform: String
  package let version: String
  /// The names of the options that the app's exporter knows, in ascending order of their bytes; nil
  /// if they are not told.
  package let options: [String]?
  private var unknown = Fields()

  package init(bundleIdentifier: String, store: String, platform: String, version: String, options: [String]? = nil) {
    self.bundleIdentifier = bundleIdentifier
    self.options = options
    self.store = store
    self.platform = platform
    self.version = version
  }

  fileprivate init(of identifier: String, _ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "a part's app"
    let fields = try Fields(bytes, range, of: subject)
    bundleIdentifier = identifier
    store = try fields.text(1, limit: Limits.identifier, subject)
    platform = try fields.text(2, limit: Limits.identifier, subject)
    version = try fields.text(3, limit: Limits.identifier, subject)
    options = try fields.read(4, subject, OptionNames.read)
    unknown = fields.unknown(besides: 1...4)
  }

  fileprivate func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, Array(store.utf8))
    fields.append(2, Array(platform.utf8))
    fields.append(3, Array(version.utf8))
    if let options { fields.append(4) { OptionNames.write(options, to: &$0) } }
    fields.write(with: unknown, to: &writer)
  }

  /// Whether it is the same app, from the same store and platform; the version and the options may
  /// differ.
  fileprivate func isSame(as other: AppIdentity) -> Bool {
    bundleIdentifier == other.bundleIdentifier && store == other.store && platform == other.platform
      && unknown == other.unknown
  }

  fileprivate var unknownSize: Int { unknown.length }
}

/// Protocol §6.2: what arrives, or fails, by itself.
package struct Part: Equatable, Sendable {
  package enum Contents: Equatable, Sendable {
    /// In ascending order of their names.
    case folders([Root])
    /// Folders of a role, such as those of a home; the roots are keys.
    case role(String, [Root])
    /// An app with an extension.
    case app(AppIdentity)
    /// An app of files; the roots are keys.
    case files(of: String, [Root])
    /// A kind that this program does not know, with any of the fields of the others.
    case unknown(UInt8, identifier: String? = nil, roots: [Root] = [], app: AppIdentity? = nil)

    /// Whether each root is replaced as a whole where it arrives.
    package var isReplacedWhole: Bool { if case .files = self { true } else { false } }

    /// The roots; empty for an app with an extension.
    package var roots: [Root] {
      switch self {
      case .folders(let roots), .role(_, let roots), .files(_, let roots), .unknown(_, _, let roots, _): roots
      case .app: []
      }
    }

    /// How many sources it has; nil if any number.
    fileprivate var sourceCount: Int? {
      switch self {
      case .folders, .role, .files: roots.count
      case .app: 1
      case .unknown: nil
      }
    }
  }

  /// The sender's statements about a part, besides its contents and its size.
  package struct Label: Equatable, Sendable {
    /// For people.
    package let name: String
    /// The paths of the sender's home and its folders, by ascending keys. Files of an app may name
    /// them; one part of a home has them for the other files of the plan.
    package var homePaths: [HomePath] = []
    /// The packages that the sender's user has installed, by ascending names, for information only.
    package var packages: [String] = []

    package init(name: String) { self.name = name }
  }

  /// The role of the folders of a home.
  package static let home = "home"

  package let contents: Contents
  /// The source of each root, in the order of the roots; one source for an app with an extension.
  package let sources: [SourceIdentity]
  private let label: Label
  /// The estimates, nil where the sender has none.
  package let bytes: UInt64?
  package let items: UInt64?
  /// The files' space on a disk.
  package let allocated: UInt64?
  /// For an app of files: when anything of it last changed.
  package let changed: ItemTime?
  private var unknown = Fields()

  /// Without `sources`, nothing tells them from others.
  package init(
    _ contents: Contents, _ label: Label, sources: [SourceIdentity]? = nil, bytes: UInt64? = nil,
    items: UInt64? = nil, allocated: UInt64? = nil, changed: ItemTime? = nil
  ) {
    self.contents = contents
    self.sources = sources ?? Array(repeating: .unknown, count: contents.sourceCount ?? 0)
    self.label = label
    self.bytes = bytes
    self.items = items
    self.allocated = allocated
    self.changed = changed
  }

  package init(
    _ contents: Contents, name: String, bytes: UInt64? = nil, items: UInt64? = nil, allocated: UInt64? = nil,
    homePaths: [HomePath] = [], packages: [String] = [], sources: [SourceIdentity]? = nil, changed: ItemTime? = nil
  ) {
    var label = Label(name: name)
    (label.homePaths, label.packages) = (homePaths, packages)
    self.init(
      contents, label, sources: sources, bytes: bytes, items: items, allocated: allocated, changed: changed)
  }

  package var name: String { label.name }
  package var homePaths: [HomePath] { label.homePaths }
  package var packages: [String] { label.packages }

  /// The roots; empty for an app with an extension.
  package var roots: [Root] { contents.roots }

  /// Where each root comes from, by their names.
  package var sourcesOfRoots: [[UInt8]: SourceIdentity] {
    Dictionary(zip(roots.map(\.name), sources)) { first, _ in first }
  }

  /// The fields that tell the contents, besides the roots.
  private var identity: (kind: UInt8, identifier: String?, app: AppIdentity?) {
    switch contents {
    case .folders: (1, nil, nil)
    case .role(let role, _): (1, role, nil)
    case .app(let app): (2, app.bundleIdentifier, app)
    case .files(let app, _): (3, app, nil)
    case .unknown(let kind, let identifier, _, let app): (kind, identifier, app)
    }
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "a part of the plan"
    let fields = try Fields(bytes, range, of: subject)
    let kind: UInt8 = try fields.requiredNumber(1, subject)
    let identifier = try fields.optionalName(2, subject)
    let roots = try fields.read(4, subject, Self.readRoots)
    let app = try fields.read(5, subject) { reader, bytes throws(Violation) in
      try AppIdentity(of: identifier ?? "", bytes, try reader.take(reader.remaining))
    }
    switch (kind, identifier, roots, app) {
    case (1, nil, let roots?, nil): contents = .folders(try Self.components(roots))
    case (1, let role?, let roots?, nil): contents = .role(role, try Self.keys(roots))
    case (2, _?, nil, let app?): contents = .app(app)
    case (3, let app?, let roots?, nil): contents = .files(of: app, try Self.keys(roots))
    case (1...3, _, _, _): throw Violation(.field, subject)
    default: contents = .unknown(kind, identifier: identifier, roots: roots ?? [], app: app)
    }
    guard let name = try fields.optionalName(3, subject) else { throw Violation(.field, subject) }
    self.bytes = try fields.total(6, subject)
    items = try fields.total(7, subject)
    var label = Label(name: name)
    sources = try fields.list(8, of: "a part's sources", atMost: Limits.roots) { reader, bytes throws(Violation) in
      SourceIdentity(try reader.u64(bytes))
    }
    allocated = try fields.total(9, subject)
    label.homePaths = try Self.homePaths(fields)
    label.packages = try fields.read(11, subject, Self.readPackages) ?? []
    self.label = label
    changed = try fields.read(12, subject, Self.readTime)
    guard label.homePaths.isEmpty || kind != 2, changed == nil || kind != 1 && kind != 2 else {
      throw Violation(.field, subject)
    }
    guard contents.sourceCount ?? sources.count == sources.count else { throw Violation(.field, subject) }
    unknown = fields.unknown(besides: 1...12)
  }

  private static func readTime(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> ItemTime {
    let time = try reader.time(bytes)
    guard time.nanoseconds < 1_000_000_000, reader.isAtEnd else { throw Violation(.value, "a part's time of change") }
    return time
  }

  private static func readPackages(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [String] {
    let subject = "a part's packages"
    let names = try reader.names(of: subject, bytes, atMost: Limits.packages, where: isPackage)
    guard !names.isEmpty else { throw Violation(.value, subject) }
    return names
  }

  /// Whether a text can be the name of a Debian package.
  package static func isPackage(_ name: String) -> Bool {
    func isSmall(_ byte: UInt8) -> Bool { (97...122).contains(byte) || (48...57).contains(byte) }
    guard (2...Limits.packageName).contains(name.utf8.count), let first = name.utf8.first, isSmall(first) else {
      return false
    }
    return name.utf8.allSatisfy { isSmall($0) || "+-.".utf8.contains($0) }
  }

  private static func homePaths(_ fields: Fields) throws(Violation) -> [HomePath] {
    let subject = "a part's paths of a home"
    return try fields.list(
      10, of: subject, atMost: Limits.homePaths, ascending: { $0.key.lexicographicallyPrecedes($1.key) },
      reading: { reader, bytes throws(Violation) in
        let path = HomePath(key: try reader.stringBytes(bytes), path: try reader.stringBytes(bytes))
        guard path.isValid else { throw Violation(.value, subject) }
        return path
      })
  }

  private static func readRoots(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [Root] {
    let subject = "a part's roots"
    return try reader.list(
      of: subject, atMost: Limits.roots, ascending: { $0.name.lexicographicallyPrecedes($1.name) },
      reading: { reader throws(Violation) in
        guard let kind = ItemKind(rawValue: try reader.u8(bytes)), kind != .metadata else {
          throw Violation(.unknown, subject)
        }
        let name = try reader.stringBytes(bytes)
        guard (1...Limits.name).contains(name.count) else { throw Violation(.value, subject) }
        return Root(kind: kind, name: name)
      })
  }

  /// Checks that the names of roots are components of paths.
  private static func components(_ roots: [Root]) throws(Violation) -> [Root] {
    for root in roots { try ArchivePath.checkComponent(root.name.span) }
    return roots
  }

  /// Checks that the names of roots are keys.
  private static func keys(_ roots: [Root]) throws(Violation) -> [Root] {
    for root in roots { guard isKey(root.name) else { throw Violation(.value, "a part's key") } }
    return roots
  }

  fileprivate static func isKey(_ name: [UInt8]) -> Bool {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    return name.count <= Limits.key && name.first.map(letters.contains) == true
      && name.allSatisfy {
        letters.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
      }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    let (kind, identifier, app) = identity
    fields.append(1, [kind])
    if let identifier { fields.append(2, Array(identifier.utf8)) }
    fields.append(3, Array(name.utf8))
    if !roots.isEmpty {
      fields.append(4) { writer in
        for root in roots {
          writer.u8(root.kind.rawValue)
          writer.string(root.name)
        }
      }
    }
    if let app { fields.append(5) { app.write(to: &$0) } }
    if let bytes { fields.append(6) { $0.u64(bytes) } }
    if let items { fields.append(7) { $0.u64(items) } }
    if !sources.isEmpty {
      fields.append(8) { writer in
        for source in sources { writer.u64(source.rawValue) }
      }
    }
    if let allocated { fields.append(9) { $0.u64(allocated) } }
    if !homePaths.isEmpty {
      fields.append(10) { writer in
        for path in homePaths {
          writer.string(path.key)
          writer.string(path.path)
        }
      }
    }
    if !packages.isEmpty { fields.append(11) { $0.names(packages) } }
    if let changed { fields.append(12) { $0.time(changed) } }
    fields.write(with: unknown, to: &writer)
  }

  /// Whether a later plan may have this part in the place of another: the estimates, the kinds of
  /// roots, the version of an app, the packages and the paths that inform may differ.
  func isSame(as other: Part) -> Bool {
    var told = other.label
    told.packages = label.packages
    // The arrived data of an app may name its paths, so these must be the same.
    if identity.kind == 1 { told.homePaths = label.homePaths }
    guard label == told, unknown == other.unknown, sources == other.sources else { return false }
    let (mine, others) = (identity, other.identity)
    let isSameApp =
      switch (mine.app, others.app) {
      case (let app?, let other?): app.isSame(as: other)
      case (nil, nil): true
      default: false
      }
    return isSameApp && mine.kind == others.kind && mine.identifier == others.identifier
      && roots.map(\.name) == other.roots.map(\.name)
  }

  var unknownSize: Int { unknown.length + (identity.app?.unknownSize ?? 0) }
}

extension Fields {
  /// A text of 1 to 255 bytes, nil where it is absent.
  fileprivate func optionalName(_ tag: UInt8, _ subject: String) throws(Violation) -> String? {
    guard let name = try optionalText(tag, limit: Limits.name, subject) else { return nil }
    guard !name.isEmpty else { throw Violation(.value, subject) }
    return name
  }
}
