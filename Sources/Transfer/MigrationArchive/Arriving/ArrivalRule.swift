package import MigrationWire

/// Decides by an item's path whether programs may run the item, and whether it is a secret.
///
/// The rule is made from facts that are gathered before anything arrives. It follows a path
/// component by component, and stops below the last known place.
package struct ArrivalRule: Equatable, Sendable {
  /// Absolute paths, with links resolved.
  package struct Facts: Equatable, Sendable {
    package var destination: [UInt8]
    package var homes: [[UInt8]] = []
    /// The folders of programs, the folders whose files programs obey, and the links to such folders.
    package var running: [[UInt8]] = []
    /// Files and folders with secrets.
    package var secret: [[UInt8]] = []
    /// Files and folders with secrets, relative to each home.
    package var secretAtHome: [[UInt8]] = []

    package init(destination: [UInt8]) { self.destination = destination }
  }

  /// A name as a disk may compare it: without case, forms of Unicode, invisible characters, and
  /// dots and blanks at its end. Two folders of one disk may differ in this, so every destination
  /// is judged like this.
  private struct Name: Hashable, Sendable {
    let spelling: [UInt8]
    private let folded: String

    init(_ spelling: some Collection<UInt8>) {
      self.spelling = Array(spelling)
      var scalars = String(decoding: spelling, as: UTF8.self).unicodeScalars
      if !spelling.allSatisfy({ $0 < 0x80 }) { scalars.removeAll { $0.properties.isDefaultIgnorableCodePoint } }
      while scalars.count > 1, let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
      // Each alone leaves letters different that a disk treats as equal.
      folded = String(scalars).uppercased().lowercased()
    }

    /// Whether programs may run an item of a home with this name, or an item below it.
    var mayRun: Bool { folded.unicodeScalars.first == "." || folded == "bin" || folded == "snap" }

    static func == (one: Self, other: Self) -> Bool { one.folded == other.folded }
    func hash(into hasher: inout Hasher) { hasher.combine(folded) }
  }

  /// A component of the path of a known place below the destination.
  private struct Node: Equatable, Sendable {
    var children: [Name: Node] = [:]
    /// The class of the items here and below.
    var kind = ArrivalClasses.files
    var isHome = false

    subscript(path: ArraySlice<Name>) -> Node {
      get { path.first.map { children[$0, default: Node()][path.dropFirst()] } ?? self }
      set {
        if let first = path.first {
          children[first, default: Node()][path.dropFirst()] = newValue
        } else {
          self = newValue
        }
      }
    }
  }

  private var root = Node()

  /// The rule without any places: everything is files.
  package init() {}

  package init(_ facts: Facts) {
    let destination = Self.components(facts.destination)[...]
    for home in facts.homes {
      let home = Self.components(home)
      mark(home[...], destination) {
        $0.isHome = true
      } inside: { name in
        name.mayRun ? .apps : .files
      }
      for path in Self.secretAtHome + facts.secretAtHome { add(home + Self.components(path), .secrets, destination) }
    }
    for place in facts.running { add(Self.components(place), .apps, destination) }
    for place in facts.secret { add(Self.components(place), .secrets, destination) }
  }

  /// The secrets of every home. A description may name others.
  private static let secretAtHome = [".ssh", ".gnupg", ".local/share/keyrings", ".local/share/kwalletd"].map {
    Array($0.utf8)
  }

  /// The same rule for data that is at least this, wherever it lies.
  package func atLeast(_ kind: ArrivalClasses) -> ArrivalRule {
    var rule = self
    rule.root.kind = Self.graver(root.kind, kind)
    return rule
  }

  /// Whether some disk may take two names for one.
  static func areAlike(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
    Name(one) == Name(other)
  }

  /// Whether programs may run an item of a home with this name, or an item below it.
  package static func mayRun(_ name: some Collection<UInt8>) -> Bool { Name(name).mayRun }

  private static func components(_ path: [UInt8]) -> [Name] { path.split(separator: UInt8(ascii: "/")).map(Name.init) }

  private mutating func add(_ place: [Name], _ kind: ArrivalClasses, _ destination: ArraySlice<Name>) {
    mark(place[...], destination) {
      $0.kind = Self.graver($0.kind, kind)
    } inside: { _ in
      kind
    }
  }

  /// Marks a place below the destination, or the whole destination if it lies in the place.
  /// `inside` gives the class of the destination, by the first name below the place.
  private mutating func mark(
    _ place: ArraySlice<Name>, _ destination: ArraySlice<Name>, _ change: (inout Node) -> Void,
    inside: (Name) -> ArrivalClasses
  ) {
    if place.starts(with: destination) {
      change(&root[place.dropFirst(destination.count)])
    } else if destination.starts(with: place) {
      root.kind = Self.graver(root.kind, inside(destination[destination.startIndex + place.count]))
    }
  }

  private static func graver(_ one: ArrivalClasses, _ other: ArrivalClasses) -> ArrivalClasses {
    one.rawValue < other.rawValue ? other : one
  }

  /// Follows a path; returns the class of an item there, and the known places below it, if there are any.
  private func follow(_ path: [ArraySlice<UInt8>]) -> (kind: ArrivalClasses, below: Node?) {
    var (kind, node) = (root.kind, root)
    for component in path {
      let name = Name(component)
      if node.isHome, name.mayRun { kind = Self.graver(kind, .apps) }
      guard let next = node.children[name] else { return (kind, nil) }
      node = next
      kind = Self.graver(kind, node.kind)
    }
    return (kind, node)
  }

  /// The class of an item at a path below the destination. A link on the way to
  /// a known place would stand for that place, so it is at least an app's data.
  package func kind(of path: ArchivePath, isLink: Bool) -> ArrivalClasses {
    let (kind, below) = follow(path.components)
    guard isLink, below != nil else { return kind }
    return Self.graver(kind, .apps)
  }

  /// The classes at a path below the destination and beneath it, and the places of all but files.
  package func contents(of path: ArchivePath) -> (classes: ArrivalClasses, places: [ArrivalClasses: [[UInt8]]]) {
    let (kind, below) = follow(path.components)
    var (classes, places) = (kind, [ArrivalClasses: [[UInt8]]]())
    if kind != .files { places[kind] = [path.bytes] }
    func collect(_ node: Node, _ kind: ArrivalClasses, at path: [UInt8]) {
      if node.isHome {
        classes.insert(Self.graver(kind, .apps))
        if kind == .files { places[.apps, default: []].append(path) }
      }
      for (name, child) in node.children {
        let (inner, place) = (Self.graver(kind, child.kind), path + [UInt8(ascii: "/")] + name.spelling)
        classes.insert(inner)
        if inner != kind { places[inner, default: []].append(place) }
        collect(child, inner, at: place)
      }
    }
    if let below { collect(below, kind, at: path.bytes) }
    return (classes, places)
  }
}

extension ArrivalRule {
  /// The classes of roots that arrive at these places, or under their names.
  package func arrival(of roots: [Root], at places: RootDestinations?) -> PartArrival {
    var (classes, found) = ([ArrivalClasses](), [ArrivalClasses: [[UInt8]]]())
    var names: [[UInt8]] = []
    for root in roots {
      guard let path = places.map({ $0[root.name] }) ?? (try? ArchivePath(root.name)) else {
        classes.append(self.root.kind)
        continue
      }
      names.append(path.bytes)
      let contents = contents(of: path)
      classes.append(contents.classes)
      found.merge(contents.places) { $0 + $1 }
    }
    let shown = names.prefix(Self.shownNames).map { VisibleText.listed($0) }
    let more = names.count > shown.count ? " and \(names.count - shown.count) more" : ""
    return PartArrival(name: shown.joined(separator: ", ") + more, roots: classes, places: found)
  }

  /// The number of places in the name of a part.
  private static let shownNames = 3

  /// The permit for a part whose roots arrive at these places; nil if all its items are taken.
  package func permit(at places: RootDestinations?, taking taken: ArrivalClasses) -> ArrivalPermit? {
    let isAll = taken == .all || self == ArrivalRule() && taken.contains(.files)
    return isAll ? nil : ArrivalPermit(self, at: places, taking: taken)
  }
}

/// The items of a part that its receiver's user takes.
package struct ArrivalPermit: Equatable, Sendable {
  private let rule: ArrivalRule
  private let places: RootDestinations?
  private let taken: ArrivalClasses

  package init(_ rule: ArrivalRule, at places: RootDestinations?, taking taken: ArrivalClasses) {
    self.rule = rule
    self.places = places
    self.taken = taken
  }

  /// Whether every item of a root is taken.
  func allowsAll(of root: ArraySlice<UInt8>) -> Bool {
    guard let path = try? ArchivePath(Array(root)), let place = place(of: path) else { return false }
    return allowsAll(at: place)
  }

  /// Whether an item of the archive is taken.
  func allows(_ record: ItemRecord) -> Bool { allows(record.path, isLink: record.kind == .symbolicLink) }

  /// The same, by its path in the archive.
  func allows(_ path: ArchivePath, isLink: Bool) -> Bool {
    guard let place = place(of: path) else { return false }
    return allows(at: place, isLink: isLink)
  }

  /// Whether an item is taken that gets this path at the destination.
  func allows(at place: ArchivePath, isLink: Bool) -> Bool { taken.contains(rule.kind(of: place, isLink: isLink)) }

  /// The same for a directory, with all that it may hold.
  func allowsAll(at place: ArchivePath) -> Bool { rule.contents(of: place).classes.isSubset(of: taken) }

  private func place(of path: ArchivePath) -> ArchivePath? {
    guard let places else { return path }
    return try? ArchivePath(places.place(of: path.bytes))
  }
}
